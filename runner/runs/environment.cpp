#include "runs/environment.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "config/difference.h"
#include "launch/library/libtorch.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/saves/graphs.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

config::Value hashes_of_graphs(const record::RunDirectory& run) {
  config::Value hashes = config::Value::object();
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run.graphs(), none)) {
    if (entry.path().extension() == ".pt2") hashes[entry.path().filename()] = record::hash_hex_of(entry.path());
  }
  return hashes;
}

}  // namespace

std::string cpu_capability() {
  if (const char* asked = std::getenv("ATEN_CPU_CAPABILITY")) {
    for (const char* known : {"avx512", "avx2", "default"}) {
      if (std::string(asked) == known) return known;
    }
  }
  const bool fma = __builtin_cpu_supports("fma");
  if (fma && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq")) {
    return "avx512";
  }
  return fma && __builtin_cpu_supports("avx2") ? "avx2" : "default";
}

record::Environment environment_of(const config::Experiment& e, const record::RunDirectory& run) {
  std::vector<record::DataFile> files = record::data_files(e);
  const auto graphs = record::graphs_of(e);
  std::erase_if(files, [&](const record::DataFile& file) {
    return std::any_of(graphs.begin(), graphs.end(), [&](const auto& graph) { return graph.key == file.key; });
  });
  return {.program = launch::build_id(),
          .libtorch = launch::kLibTorchVersion,
          .cpu_capability = cpu_capability(),
          .threads = e.threads.value_or(0),
          .data = record::content_samples(files),
          .sources = record::hashes_of_texts(e),
          .graphs = hashes_of_graphs(run)};
}

std::vector<std::string> differences_of_place(const record::Environment& then, const record::Environment& now) {
  const auto place = [](const record::Environment& e) {
    return config::Value{
        {"program", e.program}, {"libtorch", e.libtorch}, {"cpu_capability", e.cpu_capability}, {"threads", e.threads}};
  };
  std::vector<std::string> lines;
  for (const auto& [key, before, after] : config::first_differences(place(then), place(now), place(now).size())) {
    lines.push_back(key + ": " + before + " then, " + after + " now");
  }
  return lines;
}

std::string difference_of_content(const record::Environment& then, const record::Environment& now) {
  if (std::string data = record::sample_difference(now.data, then.data); !data.empty()) return data;
  if (const auto source = config::first_difference(then.sources, now.sources)) {
    return "sources: " + source->key + " has another text than the run was trained with";
  }
  const auto graph = config::first_difference(then.graphs, now.graphs);
  return graph ? "the run's copy of the graph, model/" + graph->key + ", is not the one that it was trained with" : "";
}

}  // namespace ddp::runs
