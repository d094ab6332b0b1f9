#include "launch/start/held_data.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <cerrno>
#include <tuple>

#include "base/error.h"
#include "base/installation.h"
#include "base/paths.h"
#include "config/difference.h"
#include "config/load/load.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin_cache.h"
#include "launch/start/probe.h"
#include "rank/verbs.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLockEnding = ".lock";
constexpr const char* kUnfinishedEnding = ".tmp";

// Weights of a table's model fit the columns of their own training: returns the preprocessing of the checkpoint that
// the experiment begins with, unless its dataset has other options. Null: there is none, or it does not serve.
config::Value preprocessing_of_weights(const config::Experiment& e) {
  const fs::path checkpoint = fs::path(e.init_from.path).parent_path();
  std::error_code none;
  if (e.init_from.path.empty() || !fs::exists(checkpoint / record::kSettings, none)) return nullptr;
  config::Value fitted = record::fitted_to_data(checkpoint);
  if (!fitted.is_object() || fitted.value("kind", "") != "table") return nullptr;
  const config::Component of_weights =
      config::load(checkpoint / record::kSettings, {}, e.components()).experiment.dataset;
  const config::Value changes = config::differences(of_weights.options, e.dataset.options);
  const bool is_same = std::all_of(changes.items().begin(), changes.items().end(), [](const auto& change) {
    return change.key() == "path" || change.key().starts_with("path[");
  });
  return is_same && of_weights.name == e.dataset.name ? fitted : config::Value();
}

// Returns the facts of the data.
config::Value prepare_data(const RankLibrary& library, const Plan& plan, const DataUse& use, const fs::path& file,
                           std::vector<int> kept = {}) {
  rank::Task task;
  task.experiment = &plan.experiment;
  task.devices = plan.groups.front();
  task.preprocessing = use.preprocessing.is_null() ? preprocessing_of_weights(plan.experiment) : use.preprocessing;
  task.rows = use.rows;
  const rank::HoldRequest request{.file = file.string(), .whole = use.whole};
  return library.ask("reading the data", rank::request_for(task, request), std::move(kept));
}

enum class Holds { nothing, alone, shared };

// Opens a lock and takes it: exclusively if nobody holds it, else shared as soon as nobody holds it exclusively.
// Returns nothing if the file cannot be created.
std::pair<FileDescriptor, Holds> take_lock(const fs::path& path) {
  for (;;) {
    FileDescriptor lock = open_lock(path);
    if (!lock) return {FileDescriptor(), Holds::nothing};
    const bool alone = flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
    if (!alone && flock(lock.get(), LOCK_SH) != 0) return {FileDescriptor(), Holds::nothing};
    if (is_current(lock, path)) return {std::move(lock), alone ? Holds::alone : Holds::shared};
  }
}

fs::path data_of(fs::path lock) { return lock.replace_extension(); }

// The file beside the data that describes them.
fs::path facts_of(const fs::path& data) { return data.string() + ".json"; }

// Removes the data and their lock, which this process holds, if no other process uses them.
void remove_unused(const FileDescriptor& lock, const fs::path& data) {
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code gone;
  fs::remove(data, gone);
  fs::remove(facts_of(data), gone);
  fs::remove(data.string() + kUnfinishedEnding, gone);
  fs::remove(data.string() + kLockEnding, gone);
}

// Removes files of ranks that were killed.
void remove_abandoned(const fs::path& folder) {
  for (const fs::path& entry : paths::entries(folder)) {
    if (entry.extension() != kLockEnding) continue;
    const FileDescriptor lock(open(entry.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (lock) remove_unused(lock, data_of(entry));
  }
}

// A key of everything that decides which tensors a plan's datasets hold. "": it cannot be computed.
std::string data_key(const Plan& plan) {
  const auto states = file_states(plan.experiment);
  if (!states) return "";
  config::Value experiment = config::write(plan.experiment);
  // These settings say how the sets are used, not what they hold.
  for (const char* section : {"validation", "test"}) {
    experiment[section].erase("batch_size");
    experiment[section].erase("every");
  }
  return record::hash_hex(
      rank::json_line({build_id(), plan.experiment.components().plugin().hash, experiment.at("dataset"),
                       experiment.at("seed"), experiment.at("loss"), experiment.at("validation"), experiment.at("test"),
                       experiment.value("folds", config::Value()), *states}));
}

template <class Request>
config::Value ask_about_data(const RankLibrary& library, const Plan& plan, const HeldData& data,
                             const Request& request = {}) {
  rank::Task task;
  task.experiment = &plan.experiment;
  task.world_size = plan.world_size();
  task.devices = plan.groups.front();
  task.held_data = data.file();
  return library.ask("looking at the data", rank::request_for(task, request), data.kept());
}

}  // namespace

HeldData::~HeldData() {
  if (lock_) remove_unused(lock_, file_);
}

HeldData HeldData::in_memory(const RankLibrary& library, const Plan& plan, const DataUse& use) {
  HeldData held;
  if (!plan.holds_data) return held;
  held.memory_ = FileDescriptor(memfd_create("ddp-exp-data", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!held.memory_) throw training_error("cannot keep the data in memory: " + errno_text(errno));
  held.file_ = "/proc/self/fd/" + std::to_string(held.memory_.get());
  held.facts_ = prepare_data(library, plan, use, held.file_, held.kept());
  fcntl(held.memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return held;
}

HeldData HeldData::facts_alone(const RankLibrary& library, const Plan& plan) {
  HeldData held;
  const std::string key = data_key(plan);
  const std::string entry = key.empty() ? "" : "facts-" + key;
  if (const auto known = find_reply(entry)) {
    held.facts_ = *known;
    return held;
  }
  held.facts_ = prepare_data(library, plan, {}, "");
  keep_reply(entry, held.facts_);
  return held;
}

HeldData HeldData::in_cache(const RankLibrary& library, const Plan& plan) {
  const fs::path folder = cache_folder() / "held";
  const std::string key = plan.holds_data ? data_key(plan) : "";
  if (key.empty() || folder.is_relative()) return {};
  std::error_code unwritable;
  fs::create_directories(folder, unwritable);
  if (unwritable) return {};
  remove_abandoned(folder);
  HeldData held;
  held.file_ = folder / key;
  for (;;) {
    Holds how{};
    std::tie(held.lock_, how) = take_lock(held.file_.string() + kLockEnding);
    if (how == Holds::nothing) return {};
    const bool there = fs::exists(held.file_, unwritable);
    if (how == Holds::alone && !there) {
      const fs::path unfinished = held.file_.string() + kUnfinishedEnding;
      record::write_atomically(facts_of(held.file_), prepare_data(library, plan, {}, unfinished).dump());
      paths::rename(unfinished, held.file_);
    }
    // A rank with the exclusive lock may have failed to prepare the data.
    if (how == Holds::shared && !there) continue;
    flock(held.lock_.get(), LOCK_SH);
    held.facts_ = config::Value::parse(record::read_text(facts_of(held.file_)));
    return held;
  }
}

HeldData hold_data(const RankLibrary& library, const config::Loaded& loaded, Plan& plan, const DataUse& use) {
  std::vector<record::DataFile> files = record::data_files(plan.experiment);
  HeldData data = plan.launch.one_rank ? HeldData::in_cache(library, plan) : HeldData::in_memory(library, plan, use);
  if (data.facts().empty() && config::leaves_sizes(plan.experiment)) {
    data = HeldData::facts_alone(library, plan);
  }
  fill_sizes(data, loaded, plan);
  data.files_ = std::move(files);
  return data;
}

config::Rows rows_of_data(const RankLibrary& library, const Plan& plan, const HeldData& data) {
  const config::Value& facts = data.facts();
  return config::read_written<config::Rows>(
      (facts.empty() ? HeldData::facts_alone(library, plan).facts() : facts).at("rows"));
}

void fill_sizes(const HeldData& data, const config::Loaded& loaded, Plan& plan) {
  if (data.facts().empty()) return;
  config::fill_sizes(plan.experiment, loaded, data.facts());
}

void DataShelf::expect(const Plan& plan) { ++expected_[data_key(plan)]; }

bool DataShelf::wants(const Plan& plan) const {
  if (kept_ != nullptr) return false;
  const std::string key = data_key(plan);
  const auto expected = expected_.find(key);
  return !key.empty() && expected != expected_.end() && expected->second > 1;
}

std::shared_ptr<const HeldData> DataShelf::hold(const RankLibrary& library, const config::Loaded& loaded,
                                                Plan& plan) const {
  if (kept_ != nullptr && data_key(plan) == key_) {
    fill_sizes(*kept_, loaded, plan);
    return kept_;
  }
  return std::make_shared<const HeldData>(hold_data(library, loaded, plan));
}

void DataShelf::keep(const Plan& plan, std::shared_ptr<const HeldData> data) {
  // Without facts nothing was prepared that trials could share.
  if (data->facts().empty() || !wants(plan)) return;
  key_ = data_key(plan);
  kept_ = std::move(data);
}

std::vector<int> DataShelf::descriptors() const { return kept_ == nullptr ? std::vector<int>() : kept_->kept(); }

config::DataDescription describe_data(const RankLibrary& library, const Plan& plan, const HeldData& data) {
  // The first batch of rank 0 depends on the world size, including ranks of other machines.
  const std::string key = probe_key(plan, "", "");
  const std::string entry = key.empty() ? "" : "data-" + key + "-" + std::to_string(plan.world_size());
  if (const auto known = find_reply(entry)) return config::read_written<config::DataDescription>(*known);
  const config::Value description = ask_about_data<rank::DescribeRequest>(library, plan, data);
  keep_reply(entry, description);
  return config::read_written<config::DataDescription>(description);
}

config::Value preview_data(const RankLibrary& library, const Plan& plan, const HeldData& data) {
  return ask_about_data<rank::PreviewRequest>(library, plan, data);
}

std::string sets_of_rows(const RankLibrary& library, const Plan& plan, const HeldData& data) {
  return ask_about_data<rank::SetsRequest>(library, plan, data).get<std::string>();
}

config::Value draws_of_data(const RankLibrary& library, const Plan& plan, const HeldData& data, std::int64_t samples) {
  return ask_about_data(library, plan, data, rank::DrawsRequest{.samples = samples});
}

}  // namespace ddp::launch
