#include "commands/train/epoch_order.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "commands/other_split.h"
#include "config/length.h"

namespace ddp::commands {
namespace {

// Inside an epoch, the settings that order its samples must not change: samples would be skipped or repeated.
std::map<std::string, config::Value> order_of(const config::Experiment& e) {
  return {{"dataset.name", e.dataset.name},
          {"loader.shuffle", e.loader.shuffle},
          {"loader.drop_last", e.loader.drop_last},
          {"loader.sampler_seed", e.loader.sampler_seed},
          {"validation.split", e.validation.split},
          {"validation.stratify", e.validation.stratify},
          {"validation.by", e.validation.by},
          {"validation.seed", e.validation.seed},
          {"test.split", e.test.split},
          {"test.stratify", e.test.stratify},
          {"test.by", e.test.by}};
}

constexpr const char* kWhat = "the checkpoint is inside an epoch, and this would change the epoch's order of samples";
constexpr const char* kRemedy = ", or use the end of an epoch with --from";

// Returns name, size and number of the files of an option, in their order. A single file may have any name.
std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> files_of(const std::string& key,
                                                                          const std::vector<record::DataFile>& all) {
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> files;
  for (const record::DataFile& file : all) {
    if (file.key == key) {
      files.emplace_back(std::filesystem::path(file.path).filename().string(), file.bytes, file.files);
    }
  }
  if (files.size() == 1) std::get<0>(files.front()).clear();
  return files;
}

// Throws at the first option of the dataset that differs. `then`: the checkpoint's files, which may lie elsewhere now.
void require_same_data(const config::Loaded& now, const config::Value& before,
                       const std::vector<record::DataFile>& then, const std::vector<record::DataFile>& files) {
  const config::Value& options = now.experiment.dataset.options;
  config::Value all = before;
  all.update(options);
  for (const auto& [option, value] : all.items()) {
    if (before.contains(option) && options.contains(option) && before.at(option) == value) continue;
    const std::string key = "dataset." + option;
    const auto same = files_of(key, then);
    if (keeps_samples(key) || (!same.empty() && same == files_of(key, files))) continue;
    throw now.error(now.given(key) ? key : "dataset",
                    "the checkpoint is inside an epoch, and options of the dataset cannot change before its end: " +
                        key + (before.contains(option) ? " was " + before.at(option).dump() : " was not given"),
                    "leave this change out" + std::string(kRemedy));
  }
}

}  // namespace

void require_same_order(const Prepared& now, const config::Experiment& before, const record::Position& position,
                        const std::vector<record::DataFile>& then) {
  const auto& e = now.plan.experiment;
  const auto old = order_of(before);
  for (const auto& [key, value] : order_of(e)) {
    if (value != old.at(key)) throw now.loaded.error(key, kWhat, "keep it at " + old.at(key).dump() + kRemedy);
  }
  require_same_data(now.loaded, before.dataset.options, then, now.data.files());
  if (*e.batch_size * now.plan.world_size() * e.accumulate == position.global_batch_size) return;
  throw now.loaded.error(
      "batch_size", kWhat,
      "keep the " + std::to_string(position.global_batch_size) + " samples of a step (leave batch_size out)" + kRemedy);
}

void require_batch_left(const Prepared& now, const config::Experiment& before, const record::Position& at) {
  const auto& e = now.plan.experiment;
  if (!e.loader.drop_last_batch || now.workload.train_samples == 0 || !before.batch_size) return;
  const config::EpochPlace place =
      config::EpochPlace{
          .position = at.position, .offset = at.offset, .world_size = at.world_size, .batch_size = *before.batch_size}
          .converted(now.plan.world_size(), *e.batch_size);
  const std::int64_t left = std::max<std::int64_t>(0, now.workload.train_samples - place.offset);
  if (config::micro_batches_of_rank(left, place.world_size, place.batch_size, e.loader) > place.position) return;
  throw now.loaded.error(
      "loader.drop_last_batch",
      "the checkpoint is inside an epoch with " + std::to_string(left) +
          " samples left: less than a batch for each rank, which would be dropped",
      "resume with " + std::to_string(at.world_size) + " ranks, or use the end of an epoch with --from");
}

}  // namespace ddp::commands
