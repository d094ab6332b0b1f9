#include "launch/run/environment.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "launch/library/libtorch.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/saves/graphs.h"

namespace ddp::launch {
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

// "model.cpp": the first name whose hashes differ; "": none does.
std::string first_other(const config::Value& then, const config::Value& now) {
  for (const config::Value* names : {&then, &now}) {
    for (const auto& [name, hash] : names->items()) {
      if (then.value(name, config::Value()) != now.value(name, config::Value())) return name;
    }
  }
  return "";
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
  return {.program = build_id(),
          .libtorch = kLibTorchVersion,
          .cpu_capability = cpu_capability(),
          .threads = e.threads.value_or(0),
          .data = record::content_samples(files),
          .sources = record::hashes_of_texts(e),
          .graphs = hashes_of_graphs(run)};
}

std::string difference_of_places(const record::Environment& then, const record::Environment& now) {
  std::string lines;
  const auto compare = [&lines](const char* name, const std::string& before, const std::string& after) {
    if (before != after)
      lines += (lines.empty() ? "" : "\n") + std::string(name) + ": " + before + " then, " + after + " now";
  };
  compare("program", then.program, now.program);
  compare("libtorch", then.libtorch, now.libtorch);
  compare("cpu_capability", then.cpu_capability, now.cpu_capability);
  compare("threads", std::to_string(then.threads), std::to_string(now.threads));
  return lines;
}

std::string difference_of_content(const record::Environment& then, const record::Environment& now) {
  if (std::string data = record::sample_difference(now.data, then.data); !data.empty()) return data;
  if (const std::string source = first_other(then.sources, now.sources); !source.empty()) {
    return "sources: " + source + " has another text than the run was trained with";
  }
  const std::string graph = first_other(then.graphs, now.graphs);
  return graph.empty() ? ""
                       : "the run's copy of the graph, model/" + graph + ", is not the one that it was trained with";
}

}  // namespace ddp::launch
