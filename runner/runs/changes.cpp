#include "runs/changes.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/log.h"
#include "base/own_command.h"
#include "base/url.h"
#include "config/difference.h"
#include "config/length.h"
#include "config/load/files.h"
#include "rank/verbs.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/summary.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

using config::Value;

// The keys of a run that are not free to change, or only with a word about it.
struct Policy {
  const char* key;               // the key, or the section of such keys
  bool refused = false;          // never
  bool orders_epoch = false;     // not inside an epoch
  bool chooses_samples = false;  // tells if samples are held out that were trained on
  bool compares = false;         // tells that the best metric so far is of other data
};

constexpr std::array kPolicies = {
    Policy{.key = "dataset.target", .refused = true},
    Policy{.key = "dataset", .orders_epoch = true, .compares = true},
    Policy{.key = "loader.shuffle", .orders_epoch = true},
    Policy{.key = "loader.drop_last", .orders_epoch = true},
    Policy{.key = "loader.sampler_seed", .orders_epoch = true},
    Policy{.key = "loader.sample", .orders_epoch = true},
    Policy{.key = "folds", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "validation.last", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "validation.order", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "validation.split", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "validation.stratify", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "validation.by", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "validation.seed", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "validation.known_rows", .compares = true},
    Policy{.key = "validation.dataset", .compares = true},
    Policy{.key = "test.split", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "test.stratify", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "test.by", .orders_epoch = true, .chooses_samples = true, .compares = true},
    Policy{.key = "test.seed", .orders_epoch = true, .chooses_samples = true, .compares = true},
};

bool is_in(const std::string& key, const std::string& section) {
  return key == section || key.starts_with(section + ".") || key.starts_with(section + "[");
}

Policy policy_of(const std::string& key) {
  const auto found = std::find_if(kPolicies.begin(), kPolicies.end(), [&](const auto& p) { return is_in(key, p.key); });
  return found == kPolicies.end() || keeps_samples(key) ? Policy{.key = ""} : *found;
}

// Returns size, number and, of several, name of the files of an option. The same data may lie at another path.
std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> files_of(const std::string& key,
                                                                          const std::vector<record::DataFile>& all) {
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> files;
  for (const record::DataFile& file : all) {
    if (file.key == key) files.emplace_back(fs::path(file.path).filename().string(), file.bytes, file.files);
  }
  if (files.size() == 1) std::get<0>(files.front()).clear();
  return files;
}

bool same_files(const std::string& key, const std::vector<record::DataFile>& then,
                const std::vector<record::DataFile>& now) {
  const auto files = files_of(key, then);
  return !files.empty() && files == files_of(key, now);
}

void require_batch_left(const Prepared& now) {
  const config::Experiment& before = now.standing.before;
  const record::Position& at = now.standing.position;
  const auto& e = now.plan.experiment;
  if (!e.loader.drop_last_batch || now.probe.train_samples == 0 || !before.batch_size) return;
  const config::EpochPlace place =
      config::EpochPlace{
          .position = at.position, .offset = at.offset, .world_size = at.world_size, .batch_size = *before.batch_size}
          .converted(now.plan.logical_ranks(), *e.batch_size);
  const std::int64_t left = std::max<std::int64_t>(0, now.probe.train_samples - place.offset);
  if (config::micro_batches_of_rank(left, place.world_size, place.batch_size, e.loader) > place.position) return;
  throw now.standing.loaded.error(
      "loader.drop_last_batch",
      "the checkpoint is inside an epoch with " + std::to_string(left) +
          " samples left: less than a batch for each rank, which would be dropped",
      "resume with " + std::to_string(at.world_size) + " ranks, or use the end of an epoch with --from");
}

}  // namespace

Value changes_of(const config::Experiment& before, const config::Experiment& now) {
  return config::differences(config::write(config::comparable(before)), config::write(config::comparable(now)));
}

bool keeps_samples(const std::string& key) { return key.substr(key.rfind('.') + 1) == "on_bad"; }

bool same_data(const config::Experiment& before, const config::Experiment& now) {
  const Value changes = config::differences(config::without_queries(before.dataset.options),
                                            config::without_queries(now.dataset.options));
  return before.dataset.name == now.dataset.name &&
         std::all_of(changes.items().begin(), changes.items().end(),
                     [](const auto& change) { return keeps_samples(change.key()); });
}

void require_allowed_changes(const config::Experiment& before, const config::Loaded& now) {
  const Value changes = changes_of(before, now.experiment);
  for (const auto& [key, values] : changes.items()) {
    if (!policy_of(key).refused) continue;
    throw now.error(key, "a run cannot change this key: " + config::change_in_words(key, values),
                    "start a new run, with --init-from to begin with these weights");
  }
}

void require_same_order(const Prepared& now) {
  const config::Loaded& loaded = now.standing.loaded;
  const record::Position& position = now.standing.position;
  const std::vector<record::DataFile> then = record::files_of_checkpoint(now.standing.checkpoint);
  const auto& e = now.plan.experiment;
  const std::string what = "the checkpoint is inside an epoch, and this would change the epoch's order of samples";
  const std::string other_end = ", or use the end of an epoch with --from";
  const Value changes = changes_of(now.standing.before, e);
  for (const auto& [key, values] : changes.items()) {
    if (!policy_of(key).orders_epoch || same_files(key, then, now.data.files())) continue;
    throw loaded.error(loaded.given(key) || !key.starts_with("dataset") ? key : "dataset",
                       what + ": " + config::change_in_words(key, values), "leave this change out" + other_end);
  }
  if (*e.batch_size * now.plan.logical_ranks() * e.accumulate != position.global_batch_size) {
    throw loaded.error("batch_size", what,
                       "keep the " + std::to_string(position.global_batch_size) +
                           " samples of a step (leave batch_size out)" + other_end);
  }
  const auto rows = record::rows_of_checkpoint(now.standing.checkpoint);
  if (rows && now.probe.rows.count > 0 && now.probe.rows.count != rows->count) {
    throw usage_error(what + ": the data had " + std::to_string(rows->count) + " rows, and have " +
                          std::to_string(now.probe.rows.count),
                      "dataset", "put them back" + other_end);
  }
  require_batch_left(now);
}

std::string held_out_after_training(const config::Experiment& before, const config::Experiment& now) {
  constexpr double kRounding = 1e-9;
  const auto share_of = [](const config::Experiment& e) {
    return e.validation.split + e.validation.last + e.test.split;
  };
  if (!now.draws_sets() || !same_data(before, now)) return "";
  bool other_samples =
      share_of(now) > share_of(before) + kRounding || (now.validation.last > 0) != (before.validation.last > 0);
  std::string changed;
  const Value changes = changes_of(before, now);
  for (const auto& [key, values] : changes.items()) {
    if (!policy_of(key).chooses_samples) continue;
    // The size of a split alone does not change the order from which it takes samples: with one order, a smaller share
    // consists of samples that were held out before (data/split.h).
    other_samples = other_samples || !(key.ends_with(".split") || key.ends_with(".last"));
    changed += (changed.empty() ? "" : "; ") + config::change_in_words(key, values);
  }
  if (!other_samples) return "";
  return changed +
         ": the model has trained on samples that are held out now, so their values are better than on new data";
}

std::string best_change(const config::Experiment& before, const config::Experiment& now,
                        const std::vector<record::DataFile>& then, const std::vector<record::DataFile>& files) {
  const std::string metric = now.best_metric().name;
  const Value changes = changes_of(before, now);
  for (const auto& [key, values] : changes.items()) {
    const bool of_data = policy_of(key).compares && !same_files(key, then, files);
    const bool of_loss = is_in(key, "loss") && metric.ends_with("loss");
    if (!of_data && !of_loss) continue;
    return "the best " + metric + " so far was measured " + (of_data ? "on other data" : "with another loss") + " (" +
           key + " has changed), and later values are compared with it";
  }
  return "";
}

Error with_cause(const Error& refusal, const Standing& standing) {
  const fs::path& checkpoint = standing.checkpoint;
  const config::Loaded& now = standing.loaded;
  const bool of_optimizer = refusal.where() == rank::optimizer_file(checkpoint).string();
  const bool of_weights = refusal.where() == checkpoint.string();
  const bool of_model = std::any_of(now.places.begin(), now.places.end(), [&](const auto& place) {
    return place.first.starts_with("model") && config::where(place.second) == refusal.where();
  });
  const char* const section = of_optimizer ? "optimizer" : of_weights ? "model" : of_model ? "dataset" : nullptr;
  const Value changes = changes_of(standing.before, now.experiment);
  for (const auto& [key, values] : changes.items()) {
    if (section == nullptr || !(is_in(key, section) || (of_optimizer && is_in(key, "groups")))) continue;
    if (key == "optimizer.layer_decay" || is_in(key, "optimizer.layers")) continue;  // no state depends on a rate
    const std::string other_name = std::string(section) + ".name";                   // has other options in any case
    const std::string blamed = changes.contains(other_name) ? other_name : key;
    return now.error(
        now.given(blamed) ? blamed : other_name,
        std::string(of_model ? "the run's model does not fit this change: "
                             : "the checkpoint does not fit this change: ") +
            config::change_in_words(blamed, changes.at(blamed)) + "\n  " + (of_model ? "" : checkpoint.string() + " ") +
            refusal.summary(),
        of_optimizer ? "leave it out, or start a new run with the weights alone: --init-from " + path_word(checkpoint)
                     : "leave it out, or start a new run");
  }
  return refusal;
}

namespace {

// A default or a size that the run has taken from its data is not in the file.
bool in_file(const config::Loaded& asked, const std::string& key) {
  constexpr std::string_view kOfName = ".name";
  return asked.given(key) || (key.ends_with(kOfName) && asked.given(key.substr(0, key.size() - kOfName.size())));
}

// Returns whether the run's value is the asked one as the run resolved it: "auto" or a number became a list of devices,
// and two keys became others.
bool is_resolved(const std::string& key, const Value& asked, const Value& kept, const record::RunDirectory& run) {
  if (asked == "auto") return true;
  if (kept.is_array()) return asked.is_number_integer() && asked == kept.size();
  if (!kept.is_null()) return false;
  if (key != "global_batch_size") return key == "devices_per_rank";
  const auto checkpoint = record::newest_whole(run.checkpoints());
  return checkpoint.empty() || asked == record::position_of(checkpoint).global_batch_size;
}

// Returns true if the key names files that only lie in another folder.
bool moved(const std::string& key, const config::Experiment& before, const config::Experiment& now) {
  const auto names = [&](const config::Experiment& e) {
    const auto files = config::named_files(e);
    return std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.key == key; });
  };
  const auto is_at_url = [&](const config::Experiment& e) {
    const auto files = config::named_files(e);
    return std::any_of(files.begin(), files.end(),
                       [&](const auto& file) { return file.key == key && (file.object || is_url(file.path)); });
  };
  if (is_at_url(before) || is_at_url(now)) return false;
  const auto samples = [](const config::Experiment& e) {
    return record::hash_of_samples(record::content_samples(record::data_files(e)));
  };
  return names(before) && names(now) && samples(before) == samples(now);
}

// Returns the steps of a completed run by its summary.json; 0: the run has not completed, or the file does not say.
std::int64_t completed_steps(const record::RunDirectory& run) {
  const Value summary = record::last_summary(run);
  const Value steps = summary.value("steps", Value());
  return summary.value("status", Value()) == "completed" && steps.is_number_integer() ? steps.get<std::int64_t>() : 0;
}

}  // namespace

std::optional<Error> other_settings(const config::Loaded& asked, const record::RunDirectory& run,
                                    const std::vector<std::string>& sets) {
  constexpr int kMostListed = 6;
  config::Experiment before;
  try {
    before = config::load(run.config(), sets, asked.experiment.components()).experiment;
  } catch (const Error&) {
    return {};  // the resume itself reports it
  }
  const Value changes = changes_of(record::as_kept(before), record::as_kept(asked.experiment));
  std::string list;
  int count = 0;
  for (const auto& [key, change] : changes.items()) {
    if (key == "init_from" || !in_file(asked, key) || is_resolved(key, change.at(1), change.at(0), run)) continue;
    if (moved(key, before, asked.experiment)) continue;
    if (++count <= kMostListed) list += "\n  " + config::change_in_words(key, change);
  }
  if (count == 0) return {};
  if (count > kMostListed) list += "\n  …";
  return usage_error("this run has other settings than " + asked.file + ":" + list, run.path().string(),
                     "continue it with `" + own_command("resume " + path_word(run.path())) +
                         "`, which takes --set, or begin another run");
}

std::optional<Error> all_saves_lost(const record::RunDirectory& run) {
  const std::int64_t steps = completed_steps(run);
  if (steps == 0 || !record::checkpoint_folders(run.checkpoints()).empty()) return {};
  return usage_error("the run has completed " + std::to_string(steps) + " steps, and no checkpoint of it is left",
                     run.checkpoints().string(), "bring one back from a copy, or train again in a new run");
}

void check_saves(const record::RunDirectory& run, const fs::path& checkpoint, bool tells) {
  if (checkpoint.empty()) {
    if (const auto lost = all_saves_lost(run)) throw *lost;
    return;
  }
  const std::int64_t step = record::step_of(checkpoint);
  const std::int64_t steps = completed_steps(run);
  const auto newest_first = record::checkpoint_folders(run.checkpoints());
  // A damaged one has its own warning.
  if (!tells || steps <= step || record::step_of(newest_first.front()) > step) return;
  log::warn("the run has completed " + std::to_string(steps) + " steps, and its newest checkpoint left is of step " +
            std::to_string(step) + ": steps " + std::to_string(step + 1) + " to " + std::to_string(steps) +
            " are trained again");
}

}  // namespace ddp::runs
