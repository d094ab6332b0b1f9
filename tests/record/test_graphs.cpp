#include "record/saves/graphs.h"

#include <filesystem>

#include "base/error.h"
#include "catch.h"
#include "errors.h"
#include "record/file/atomic_file.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::record {
namespace {
namespace fs = std::filesystem;

config::Experiment experiment_on(const ScratchFolder& scratch, const std::string& model = "net.pt2") {
  config::Experiment e;
  e.model = {.name = "exported", .options = {{"path", (scratch.folder() / model).string()}, {"eval", ""}}};
  e.loss = {.name = "exported", .options = {{"path", (scratch.folder() / "loss.pt2").string()}}};
  return e;
}

// The run in the folder, with copies of these graphs: the graphs themselves.
RunDirectory keep(const ScratchFolder& scratch, const config::Experiment& e, const std::string& folder = "run") {
  const RunDirectory run(scratch.folder() / folder);
  std::vector<KeptGraph> kept;
  for (const Graph& graph : graphs_of(e)) kept.push_back({.graph = graph, .copy = read_text(graph.file)});
  keep_graphs(run, kept);
  return run;
}

}  // namespace

TEST_CASE("an experiment reads a run's copies of the graphs at its paths, and knows the hash of the user's files") {
  const ScratchFolder scratch;
  scratch.write("net.pt2", "net");
  scratch.write("loss.pt2", "loss");
  config::Experiment e = experiment_on(scratch);
  const std::vector<Graph> before = graphs_of(e);
  const RunDirectory run = keep(scratch, e);
  fs::remove(scratch.folder() / "net.pt2");
  scratch.write("loss.pt2", "another");
  use_graphs_of(run, e);
  const std::vector<Graph> graphs = graphs_of(e);
  REQUIRE(graphs.size() == 2);
  CHECK(read_text(graphs[0].file) == "net");
  CHECK(read_text(graphs[1].file) == "loss");
  CHECK(graphs[0].hash == before[0].hash);
  CHECK(graphs[1].bytes == 4);
  CHECK(e.model.with_copies().at("path") == graphs[0].file);
  CHECK(e.model.options.at("path") == graphs[0].path);
  // A fork of it has copies of the copies.
  const RunDirectory fork = keep(scratch, e, "fork");
  CHECK(read_text(fork.graphs() / "loss.pt2") == "loss");

  // Another path names another graph, and so does an option that the caller excludes.
  scratch.write("other.pt2", "other");
  config::Experiment other = experiment_on(scratch, "other.pt2");
  use_graphs_of(run, other, [](const std::string& key) { return key == "loss.path"; });
  CHECK(other.model.copies.empty());
  CHECK(other.loss.copies.empty());
  keep(scratch, other);
  CHECK(read_text(run.graphs() / "model.pt2") == "other");
}

TEST_CASE("copies without their list, which a kill left, are not used, and a damaged list is an error") {
  const ScratchFolder scratch;
  scratch.write("net.pt2", "net");
  scratch.write("loss.pt2", "loss");
  config::Experiment e = experiment_on(scratch);
  const RunDirectory run = keep(scratch, e);
  scratch.write("run/model/origins.json", R"({"model.path": {"path": 1}})");
  CHECK(contains(error_of([&] { use_graphs_of(run, e); }), "origins.json: is damaged"));
  fs::remove(run.graphs() / "origins.json");
  use_graphs_of(run, e);
  CHECK(e.model.copies.empty());
}

}  // namespace ddp::record
