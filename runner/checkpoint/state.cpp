#include "checkpoint/state.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/text/json_text.h"

namespace ddp::checkpoint {
namespace {

// Throws unless there is one text for each rank.
void require_ranks(const std::vector<std::string>& generators, int ranks) {
  if (generators.size() == static_cast<std::size_t>(ranks)) return;
  throw usage_error("it has the generators of " + std::to_string(generators.size()) + " ranks, not of " +
                    std::to_string(ranks));
}

// Throws if what was read contradicts itself.
void check(const State& s) {
  if (s.world_size == 0) throw usage_error("\"world_size\" is 0");
  require_ranks(s.rng, s.world_size);
  for (const auto& device : s.gpu_rng) require_ranks(device, s.world_size);
  for (const auto& [name, numbers] : s.rules) {
    if (!numbers.is_object()) throw usage_error("the rule \"" + name + "\" is not an object");
  }
}

}  // namespace

void State::fields(config::Fields& f) {
  record::Judgement judged{.by = judged_by, .value = metric};
  if (f.reads()) {
    ranks = 0;
    loss_weight = -1;
    data.reset();
  }
  f.version();
  f({.name = "epoch"}, epoch);
  f({.name = "position"}, position);
  f({.name = "offset"}, offset);
  f({.name = "step"}, step);
  f({.name = "world_size"}, world_size);
  f({.name = "ranks", .may_be_missing = true}, ranks);
  f({.name = "batch_size"}, batch_size);
  f({.name = "global_batch_size"}, global_batch_size);
  f({.name = "metric"}, judged);
  f({.name = "seconds"}, seconds);
  f({.name = "seen"}, seen);
  f({.name = "loss_sum", .may_be_null = true}, loss_sum);
  f({.name = "loss_weight", .may_be_missing = true}, loss_weight);
  f({.name = "loss_samples"}, loss_samples);
  f({.name = "config_hash"}, config_hash);
  f({.name = "freeze", .may_be_missing = true}, freeze);
  f({.name = "buckets"}, buckets);
  f({.name = "files"}, files);
  f({.name = "rng"}, rng);
  f({.name = "gpu_rng"}, gpu_rng);
  f({.name = "scalar_sums", .optional = true}, scalar_sums);
  f({.name = "data", .optional = true}, data);
  f({.name = "rows", .optional = true}, rows);
  f({.name = "rules", .optional = true}, rules);
  f({.name = "skipped_steps", .optional = true}, skipped_steps);
  f({.name = "ended_by", .optional = true}, ended_by);
  f({.name = "reason", .optional = true}, reason);
  f({.name = "validation_due", .optional = true}, validation_due);
  f({.name = "spacing", .optional = true}, spacing);
  if (!f.reads()) return;
  judged_by = judged.by;
  metric = judged.value;
  if (ranks == 0) ranks = world_size;
  if (loss_weight < 0) loss_weight = static_cast<double>(loss_samples);
}

std::string to_text(const State& state) { return config::written(state).dump(1) + "\n"; }

State parse_state(const std::string& text, const std::string& name) {
  try {
    auto state = config::read_written<State>(config::parse_value(text));
    check(state);
    return state;
  } catch (const std::exception& error) {
    throw training_error(std::string("is damaged: ") + error.what(), name);
  }
}

}  // namespace ddp::checkpoint
