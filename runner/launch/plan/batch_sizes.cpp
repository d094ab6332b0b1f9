#include "launch/plan/batch_sizes.h"

#include <algorithm>
#include <string>

#include "config/length.h"

namespace ddp::launch {
namespace {

// The range of batch sizes that a model takes, and the errors for other sizes.
class TakenSizes {
 public:
  TakenSizes(const config::Loaded& loaded, const rank::Probe& probe)
      : loaded_(loaded), least_(probe.least_batch), most_(probe.most_batch) {}

  // `samples` come in batches of `size`; the last batch may be short.
  void require(const std::string& key, const std::string& of, std::int64_t samples, std::int64_t size,
               bool drops_short) const {
    const std::string remedy = remedy_for(key, samples, size, drops_short);
    if (samples == 0 || samples >= size) require_size(key, "its batches of " + of + " have ", size, remedy);
    const std::int64_t last = samples % size;
    if (last != 0 && !drops_short) require_size(key, "its last batch of " + of + " has ", last, remedy);
  }

 private:
  static constexpr const char* kExport =
      "export the model again for batches of any size: python/export_model.py, or "
      "dynamic_shapes=({0: torch.export.Dim(\"batch\")},)";

  bool takes(std::int64_t size) const { return size >= least_ && size <= most_; }

  // Are all batches of this size taken, or all but a last one that is dropped?
  bool takes_all(std::int64_t samples, std::int64_t size, bool drops_short) const {
    return takes(size) && (samples % size == 0 || drops_short || takes(samples % size));
  }

  // Names only settings with which the model takes all batches. The batch of training changes as little as possible.
  std::string remedy_for(const std::string& key, std::int64_t samples, std::int64_t size, bool drops_short) const {
    std::int64_t other = std::clamp(size, least_, std::max(least_, std::min(samples, most_)));
    std::string remedy;
    if (key == "batch_size") {
      if (other != size) remedy = "give batch_size = " + std::to_string(other);
      if (!takes_all(samples, other, drops_short)) {
        remedy += (remedy.empty() ? "set" : " and") + std::string(" loader.drop_last_batch = true");
      }
    } else {
      while (other > 0 && !takes_all(samples, other, drops_short)) --other;
      if (other > 0) remedy = "give " + key + " = " + std::to_string(other);
    }
    return (remedy.empty() ? "" : remedy + ", or ") + kExport;
  }

  void require_size(const std::string& key, const std::string& what, std::int64_t size,
                    const std::string& remedy) const {
    if (takes(size)) return;
    const std::string range = least_ == most_      ? std::to_string(least_)
                              : most_ == INT64_MAX ? std::to_string(least_) + " or more"
                                                   : std::to_string(least_) + " to " + std::to_string(most_);
    throw loaded_.error(
        key, what + std::to_string(size) + " samples, but the model was exported for batches of " + range, remedy);
  }

  const config::Loaded& loaded_;
  const std::int64_t least_;
  const std::int64_t most_;
};

}  // namespace

void require_batch_sizes(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe) {
  if (probe.least_batch <= 1 && probe.most_batch == INT64_MAX) return;
  const auto& e = plan.experiment;
  const TakenSizes sizes(loaded, probe);
  const std::int64_t of_rank = config::samples_of_rank(probe.train_samples, plan.world_size(), e.loader.drop_last);
  sizes.require("batch_size", "training", of_rank, *e.batch_size, e.loader.drop_last_batch);
  if (probe.validation_samples > 0) {
    sizes.require("validation.batch_size", "validation", probe.validation_samples, *e.validation.batch_size, false);
  }
  if (probe.test_samples > 0) {
    sizes.require("test.batch_size", "test", probe.test_samples, *e.test.batch_size, false);
  }
}

}  // namespace ddp::launch
