#include "commands/train/nodes.h"

#include <sys/mman.h>
#include <algorithm>
#include <filesystem>

#include "commands/train/prepare.h"
#include "launch/cluster/guest.h"
#include "launch/library/plugin.h"
#include "rank/train.h"
#include "record/saves/data_files.h"

namespace ddp::commands {
namespace {

bool sees_sources(const std::string& file) {
  const auto sources = config::named_sources(file, {});
  return std::all_of(sources.begin(), sources.end(), [](const config::NamedSource& source) {
    std::error_code unreadable;
    return std::filesystem::is_regular_file(source.path, unreadable);
  });
}

// Loads the experiment that node 0 resolved. Settings are read from files, so the text goes into a memory file. If this
// node cannot see node 0's sources, it uses the sources of `sets`.
config::Loaded load_text(const std::string& toml, std::vector<std::string> sets) {
  const FileDescriptor descriptor(memfd_create("node-0", MFD_CLOEXEC));
  if (!descriptor) throw training_error("cannot keep the experiment: " + errno_text(errno));
  write_all(descriptor.get(), toml.data(), toml.size(), "node 0's experiment");
  const std::string file = "/proc/self/fd/" + std::to_string(descriptor.get());
  const bool sees = sees_sources(file);
  std::erase_if(sets, [&](const std::string& set) { return sees || !set.starts_with("sources="); });
  config::Loaded loaded = launch::load_experiment(file, sets);
  launch::require_sources_of(toml, loaded.experiment);
  // Lines of the memory file mean nothing to a user.
  loaded.places.clear();
  loaded.file = "node 0's experiment";
  return loaded;
}

}  // namespace

std::chrono::milliseconds patience_of(const config::Experiment& e) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(e.distributed.timeout * 1000));
}

int lead(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
         const std::function<int(const launch::LaunchRole&)>& body) {
  if (launch.one_rank()) return body({.launch = launch});
  launch::Nodes nodes(launch, terms, patience);
  try {
    return body({.launch = launch, .nodes = &nodes});
  } catch (const Error& error) {
    nodes.end(error.exit_code(), error.what());
    throw;
  }
}

int take_part(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::function<launch::Job(const std::string& work)>& make_job) try {
  launch::Guest guest(launch, terms, patience);
  if (guest.over()) return 0;
  std::optional<launch::Job> job;
  try {
    job.emplace(make_job(guest.welcome().work));
  } catch (const Error& error) {
    guest.decline(error.what());
    throw;
  }
  return guest.run(*job);
} catch (const config::Value::exception&) {
  throw training_error("sent a malformed message", "node 0");
}

int take_part(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::vector<std::string>& sets) {
  std::optional<Prepared> prepared;
  return take_part(launch, terms, patience, [&](const std::string& work) {
    prepared.emplace(prepare(load_text(work, sets), launch));
    return launch::Job{
        .plan = prepared->plan,
        .as_rank = [&](const rank::Task& task) { return prepared->library->serve(task, rank::TrainRequest{}); },
        .task = {.held_data = prepared->data.file()},
        .kept = prepared->data.kept(),
        .data = record::content_samples(prepared->data.files())};
  });
}

}  // namespace ddp::commands
