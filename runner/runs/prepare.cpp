#include "runs/prepare.h"

#include <sys/mman.h>
#include <algorithm>
#include <filesystem>

#include "base/installation.h"
#include "base/log.h"
#include "base/url.h"
#include "config/load/files.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin.h"
#include "launch/plan/ineffective.h"
#include "launch/start/held_data.h"
#include "launch/start/objects.h"
#include "launch/start/probe.h"
#include "rank/verbs.h"
#include "record/saves/data_files.h"
#include "record/saves/graphs.h"
#include "runs/changes.h"

namespace ddp::runs {
namespace fs = std::filesystem;

namespace {

// Replaces the key at the beginning of a further line by its place.
std::string with_places(const config::Loaded& loaded, const std::string& text) {
  std::string placed;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    const std::size_t key = line.find_first_not_of(' ');
    const std::size_t key_end = line.find(": ");
    const bool has_key =
        begin > 0 && key < key_end && key_end != std::string::npos && loaded.given(line.substr(key, key_end - key));
    placed +=
        has_key ? line.substr(0, key) + loaded.where(line.substr(key, key_end - key)) + line.substr(key_end) : line;
    begin = end;
  }
  return placed;
}

}  // namespace

Error at_its_line(const config::Loaded& loaded, const Error& found) {
  const auto named = [&](const std::string& text) { return launch::with_urls(text, loaded.experiment); };
  const Error error = usage_error(named(found.summary()), named(found.where()), named(found.remedy()));
  if (loaded.given(error.where())) {
    return loaded.error(loaded.blamed(error.where()), with_places(loaded, error.summary()), error.remedy());
  }
  if (const auto missing = config::missing_file(loaded, error.where())) return *missing;
  const std::string key = error.where().substr(0, error.where().find_first_of("[ "));
  const bool is_key = key.find('/') == std::string::npos && loaded.given(key.substr(0, key.find('.')));
  if (!is_key) return config::at_model_option(loaded, error);
  return loaded.error(loaded.blamed(loaded.given(key) ? key : key.substr(0, key.find('.'))), error.summary(),
                      error.remedy());
}

Prepared prepare(Standing standing, const launch::Launch& launch, std::optional<std::int64_t> global_batch_size,
                 const launch::DataUse& use) {
  Prepared p{.standing = std::move(standing)};
  Standing& s = p.standing;
  try {
    with_lines(s.loaded, [&] { launch::ObjectShelf().fetch(s.loaded.experiment); });
    p.plan = launch::make_plan(s.loaded, launch::visible_gpus(), launch, global_batch_size);
    // Only rank 0 reads weights and checkpoints, on its node.
    if (launch.leads() && !s.has_checkpoint()) s.weights = launch::weights_of(s.loaded);
    const std::string& mirror = s.loaded.experiment.checkpoint.mirror;
    if (!mirror.empty() && launch.one_rank) {
      throw s.loaded.error("checkpoint.mirror",
                           "is written by the process that starts the ranks, and here it is another",
                           "start ddp-exp once on each node, or leave it out");
    }
    if (is_url(mirror)) p.plan.libraries.insert(objects_library().name);
    launch::obtain(p.plan.libraries);
    p.library = std::make_unique<launch::RankLibrary>(p.plan.uses_gpus(), p.plan.experiment.components().plugin());
    p.data = with_lines(s.loaded, [&] { return launch::hold_data(*p.library, s.loaded, p.plan, use); });
    p.probe = probed(p, /*timed=*/false);
    p.length = launch::length_of_run(s.loaded, p.plan, p.probe);
  } catch (const Error& error) {
    throw s.has_checkpoint() ? with_cause(error, s) : error;
  }
  p.warnings = launch::device_warnings(s.loaded, p.plan, launch);
  for (const auto& more : {p.data.facts().value("warnings", std::vector<std::string>()), p.probe.warnings,
                           launch::without_effect(s.loaded, p.plan, p.probe, p.length)}) {
    for (const std::string& warning : more) p.warnings.push_back(launch::with_urls(warning, s.loaded.experiment));
  }
  if (launch.leads()) {
    for (const auto& warning : p.warnings) log::warn(warning);
  }
  return p;
}

rank::Probe probed(const Prepared& p, bool timed) {
  const Standing& s = p.standing;
  return with_lines(s.loaded, [&] {
    return launch::probe(*p.library, p.plan, p.plan.launch.leads() ? s.checkpoint : fs::path(), s.weights, p.data,
                         timed);
  });
}

namespace {

// Loads the experiment that node 0 resolved. Settings are read from files, so the text goes into a memory file. If this
// node cannot see node 0's sources, it uses the sources of `sets`.
config::Loaded load_work(const Work& work, std::vector<std::string> sets) {
  const FileDescriptor descriptor(memfd_create("node-0", MFD_CLOEXEC));
  if (!descriptor) throw training_error("cannot keep the experiment: " + errno_text(errno));
  write_all(descriptor.get(), work.experiment.data(), work.experiment.size(), "node 0's experiment");
  const std::string file = "/proc/self/fd/" + std::to_string(descriptor.get());
  const auto sources = config::named_sources(file, {});
  const bool sees = std::all_of(sources.begin(), sources.end(), [](const config::NamedSource& source) {
    std::error_code unreadable;
    return fs::is_regular_file(source.path, unreadable);
  });
  std::erase_if(sets, [&](const std::string& set) { return sees || !set.starts_with("sources="); });
  config::Loaded loaded = launch::load_experiment(file, sets);
  launch::require_sources_of(work.sources, loaded.experiment);
  // Without node 0's run, this node reads its own files.
  if (!work.graphs_of.empty()) record::use_graphs_of(record::RunDirectory(work.graphs_of), loaded.experiment);
  // Lines of the memory file mean nothing to a user.
  loaded.places.clear();
  loaded.file = "node 0's experiment";
  return loaded;
}

}  // namespace

std::chrono::milliseconds patience_of(const config::Experiment& e) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(e.distributed.timeout * 1000));
}

int take_part(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::vector<std::string>& sets) {
  std::optional<Prepared> prepared;
  return take_part(launch, terms, patience, [&](const launch::Guest& guest) {
    prepared.emplace(prepare({.loaded = load_work(guest.work<Work>(), sets)}, launch));
    return launch::Job{
        .plan = prepared->plan,
        .as_rank = [&](const rank::Task& task) { return prepared->library->serve(task, rank::TrainRequest{}); },
        .task = {.held_data = prepared->data.file()},
        .kept = prepared->data.kept(),
        .data = record::content_samples(prepared->data.files())};
  });
}

}  // namespace ddp::runs
