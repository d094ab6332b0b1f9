// A user's own sources: the compilations, the effect of mistakes, and the run's own copy.
#include <sys/stat.h>

#include "catch.h"
#include "sources.h"
#include "struck.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCompiling = "compiling own.cpp";

// Runs the program, which must end well with a completed run.
Outcome trained(const SourcesWorkspace& w, const Words& words, const Words& said = {}) {
  Outcome outcome = w.done(words, said);
  REQUIRE(outcome.run.exists());
  CHECK(outcome.run.summary().at("status") == "completed");
  return outcome;
}

// Requires that the source is refused with exit 2 and these words, and leaves nothing.
void check_source_refused(const SourcesWorkspace& w, const Words& words) {
  w.refused({"run", "own.toml"}, words);
  CHECK(w.compiled().empty());
  CHECK(w.left_over().empty());
  CHECK_FALSE(fs::exists(w.results()));
}

// A model whose inputs of two widths have a layer each, and a third layer that has none. The widths of a batch follow
// its first sample: ranks have others in the same step.
const std::string kBranches = R"(#include <ATen/Functions.h>
#include <torch/nn/modules/linear.h>

#include "datasets/dataset.h"
#include "models/model.h"

namespace ddp {
namespace {

struct NoOptions {
  void fields(config::Fields&) {}
};

struct Branches : torch::nn::Module {
  Branches() {
    for (const int width : {4, 6, 8}) {
      layers.push_back(register_module("of_" + std::to_string(width), torch::nn::Linear(width, 5)));
    }
    last = register_module("last", torch::nn::Linear(5, 2));
  }
  at::Tensor forward(at::Tensor x) { return last(at::tanh(layers[x.size(1) == 4 ? 0 : 1](x))); }

  std::vector<torch::nn::Linear> layers;
  torch::nn::Linear last{nullptr};
};

struct Widths : datasets::MapDataset {
  std::int64_t size() const override { return 101; }
  datasets::Batch gather(const at::Tensor& indices, std::int64_t) const override {
    const int width = indices[0].item<std::int64_t>() % 3 == 0 ? 4 : 6;
    const at::Tensor x = at::sin(indices.unsqueeze(1) * at::arange(1, width + 1));
    return {x, at::cos(indices.unsqueeze(1) * at::arange(1, 3))};
  }
};

const bool model_registered = models::registry().add<NoOptions>(
    "branches", "a model of the test",
    [](const NoOptions&, const models::Placement&) { return torch::nn::AnyModule(std::make_shared<Branches>()); },
    {{"same_calls", true}});
const bool dataset_registered = datasets::registry().add<NoOptions>(
    "widths", "data of the test",
    [](const NoOptions&, const datasets::Context&) -> std::unique_ptr<datasets::Dataset> {
      return std::make_unique<Widths>();
    },
    {{"loss", "mse"}});

}  // namespace
}  // namespace ddp
)";

}  // namespace

TEST_CASE("a model in a user's own file is compiled once, and again when it or its header has changed", "[slow]") {
  const SourcesWorkspace w;
  w.write("my models/own model.cpp", "#include \"parts/activation.h\"\n" + own_model("ACTIVATION"));
  w.write("my models/parts/activation.h", "#define ACTIVATION at::tanh\n");
  const Words command = {"run", "own.toml", "--set", "sources=[\"my models/own model.cpp\"]"};
  const Outcome first = trained(w, command);
  CHECK(contains(first.err, "compiling own model.cpp"));
  CHECK(w.compiled().size() == 1);

  const Outcome again = trained(w, command);
  CHECK_FALSE(contains(again.err, "compiling"));
  CHECK(again.run.model() == first.run.model());

  w.write("my models/parts/activation.h", "#define ACTIVATION at::relu\n");
  const Outcome changed = trained(w, command);
  CHECK(contains(changed.err, "compiling own model.cpp"));
  CHECK(changed.run.model() != first.run.model());
  CHECK(w.left_over().empty());
  // Nothing is written beside the sources.
  CHECK(std::distance(fs::recursive_directory_iterator(w.folder() / "my models"), {}) == 3);
}

TEST_CASE("a source that does not compile is refused with the compiler's message, and a warning is not an error",
          "[slow]") {
  const SourcesWorkspace w;
  w.write("own.cpp", own_model() + "int broken = ;\n");
  check_source_refused(w, {"own.cpp:35:14: error: expected primary-expression", "does not compile"});
  w.write("own.cpp", own_model() + "namespace { int nobody_reads() { int unused_number = 1; return 0; } }\n");
  const Outcome warned = trained(w, {"run", "own.toml"});
  CHECK(contains(warned.err, "warning: unused variable"));
}

TEST_CASE("a missing source is shown at its line") {
  const SourcesWorkspace w;
  w.write("own.toml", "name = \"x\"\n" + kOwn.substr(1) + "");
  fs::remove(w.folder() / "own.cpp");
  check_source_refused(w, {"own.toml:2:", "there is no such file", "sources"});
}

TEST_CASE("two runs that begin together on the same source compile it once", "[slow]") {
  const SourcesWorkspace w;
  const auto first = w.start({"run", "own.toml", "--name", "first"});
  const auto second = w.start({"run", "own.toml", "--name", "second"});
  const Outcome one = w.ends(0, *first);
  const Outcome other = w.ends(0, *second);
  CHECK(contains(one.err, kCompiling) != contains(other.err, kCompiling));
  CHECK(one.run.model() == other.run.model());
}

TEST_CASE("a compiled source of another build, or a damaged one, is not loaded but compiled again", "[slow]") {
  const SourcesWorkspace w;
  w.done({"validate", "own.toml"});
  REQUIRE(w.compiled().size() == 1);
  const fs::path json = w.compiled().front() / "plugin.json";
  Json plugin = json_of(json);
  plugin["build"] = "0.0.1+another";
  w.write(json.lexically_relative(w.folder()).string(), plugin.dump());
  w.done({"validate", "own.toml"}, {kCompiling});
  const fs::path library = w.compiled().front() / "plugin.so";
  w.write(library.lexically_relative(w.folder()).string(), text_of(library) + "x");
  w.done({"validate", "own.toml"}, {kCompiling});
}

TEST_CASE("a source that registers a taken name or crashes when it is loaded is refused", "[slow]") {
  const SourcesWorkspace w;
  std::string taken = own_model();
  taken.replace(taken.find("<OwnOptions>(\"own\""), 18, "<OwnOptions>(\"linear\"");
  w.write("own.cpp", taken);
  check_source_refused(w, {"two files register the model \"linear\"", "own.cpp:", "give one of them another name"});
  w.write("own.cpp", own_model() +
                         "#include <stdexcept>\nconst int thrown = [] { throw std::runtime_error(\"no luck\"); "
                         "return 1; }();\n");
  check_source_refused(w, {"own.cpp", "throws an exception during loading: no luck"});
  w.write("own.cpp", own_model() + "#include <csignal>\nconst int crashed = raise(SIGSEGV);\n");
  check_source_refused(w, {"own.cpp", "signal 11"});
}

TEST_CASE("control-C while a source is compiled ends the compiler and leaves nothing") {
  const SourcesWorkspace w;
  w.write("own.cpp", "#include \"endless.h\"\n" + own_model());
  REQUIRE(mkfifo((w.folder() / "endless.h").c_str(), 0600) == 0);  // a reader of it waits
  const auto process = w.start({"run", "own.toml"});
  REQUIRE(wait_until([&] { return process->members().size() > 2; }, process->pid()));
  process->signal(SIGINT);
  CHECK(process->wait() == 130);
  CHECK(wait_until([&] { return process->all_gone(); }));
  CHECK(w.left_over().empty());
  CHECK(w.compiled().empty());
  CHECK_FALSE(fs::exists(w.results()));
}

TEST_CASE("the next compilation removes the files of a killed one and keeps the files of a running one", "[slow]") {
  const SourcesWorkspace w;
  w.write("own.cpp", "#include \"endless.h\"\n" + own_model());
  REQUIRE(mkfifo((w.folder() / "endless.h").c_str(), 0600) == 0);  // a reader of it waits
  const auto killed = w.start({"run", "own.toml"});
  REQUIRE(wait_until([&] { return killed->members().size() > 2; }, killed->pid()));
  for (const Member& member : killed->members()) kill(member.pid, SIGKILL);
  REQUIRE(wait_until([&] { return killed->all_gone(); }));
  REQUIRE(w.left_over().size() == 1);
  const std::vector<fs::path> of_killed = w.unfinished();
  REQUIRE(of_killed.size() == 2);  // its folder and its lock

  w.write("own.cpp", "#include \"endless.h\"\n" + own_model("at::relu"));
  const auto running = w.start({"run", "own.toml"});
  REQUIRE(wait_until([&] { return running->members().size() > 2; }, running->pid()));
  for (const fs::path& file : of_killed) CHECK_FALSE(fs::exists(file));
  const std::vector<fs::path> of_running = w.unfinished();
  w.write("other.cpp", own_model());
  w.done({"validate", "own.toml", "--set", "sources=[\"other.cpp\"]"});
  for (const fs::path& file : of_running) CHECK(fs::exists(file));
  running->signal(SIGINT);
  CHECK(running->wait() == 130);
  CHECK(w.left_over().empty());
}

TEST_CASE("a run on the user's own model that is killed inside an epoch and resumed has the same bits", "[slow]") {
  const SourcesWorkspace w;
  kill_and_resume(w, "own");
}

TEST_CASE("steps of the user's own model are replayed only if it promises the same calls, and has the bits", "[slow]") {
  const SourcesWorkspace w;
  const auto replay_of = [&](const std::string& activation, bool promises, const Words& sets = {}) {
    std::string text = own_model(activation);
    const std::string end = "\n    });";
    if (promises) text.replace(text.find(end), end.size(), "\n    }, {{\"same_calls\", true}});");
    w.write("own.cpp", text);
    const Outcome eager = trained(w, with_sets({"run", "own.toml", "--set", "replay=off"}, sets));
    const Outcome automatic = trained(w, with_sets({"run", "own.toml"}, sets));
    CHECK(automatic.run.model() == eager.run.model());
    const Json replay = automatic.run.summary().at("replay");
    const std::string reason = replay.at("reason").is_null() ? "" : replay.at("reason").get<std::string>();
    CHECK((replay.at("steps") > 0) == reason.empty());
    CHECK(contains(automatic.err, "warning: " + reason) == contains(reason, "other bits"));
    return reason;
  };
  const std::string lacks =
      "the model \"own\" may act by the number of the step: it, or a layer of it, lacks the trait \"same_calls\"";
  CHECK(replay_of("[](auto h) { static int calls = 0; return ++calls > 9 ? at::relu(h) : at::tanh(h); }", false) ==
        lacks);
  CHECK(replay_of("at::tanh", true).empty());
  // A number that no call wrote.
  CHECK(
      replay_of("[](auto h) { h = at::tanh(h); h.data().template mutable_data_ptr<float>()[0] = h.size(0); return h; }",
                true) == "the first replay had other bits than PyTorch's eager work: the output \"loss\"");
  // Every other step leaves the first layer out.
  CHECK(replay_of("[](auto h) { static int calls = 0; return ++calls % 2 == 0 ? h : h.detach(); }", true,
                  {"distributed.find_unused_parameters=true"}) ==
        "the parameter \"first.weight\" has a gradient in only one of two recordings");
}

TEST_CASE("replayed steps of ranks that use different parameters have the bits of eager ones, accumulated too",
          "[slow]") {
  const SourcesWorkspace w;
  w.write("own.cpp", kBranches);
  const Words sets{"model={name=\"branches\"}", "dataset={name=\"widths\"}",
                   "optimizer={name=\"sgd\", lr=0.01, momentum=0.9, weight_decay=0.1}",
                   "distributed.find_unused_parameters=true", "epochs=6"};
  for (const std::string more :
       {"accumulate=1", "accumulate=2", "distributed.backend=gloo", "distributed.shard=none"}) {
    const Words words = with_sets(with_sets({"run", "own.toml"}, sets), {more});
    const RunFolder eager = trained(w, with_sets(words, {"replay=off"})).run;
    const RunFolder replayed = trained(w, with_sets(words, {"replay=require"})).run;
    CHECK(replayed.model() == eager.model());
    CHECK(replayed.optimizer() == eager.optimizer());
    CHECK(replayed.summary().at("replay").at("steps") > 10);
    CHECK(replayed.summary().at("replay").at("unused_parameters") > 0);
  }
}

TEST_CASE("a resumed run uses its own copy of a changed source, says so, and takes the new one on request", "[slow]") {
  const SourcesWorkspace w;
  const Outcome whole = w.run({"run", "own.toml", "--set", "epochs=3"});
  const Outcome half = trained(w, {"run", "own.toml", "--name", "half"});
  CHECK(text_of(half.run.path() / "sources/own.cpp") == own_model());
  w.write("own.cpp", own_model("at::relu"));
  const Outcome resumed = trained(w, {"resume", "half", "--set", "epochs=3"});
  CHECK(contains(resumed.err, "own.cpp has changed since this run began"));
  CHECK_FALSE(contains(resumed.err, "compiling"));
  CHECK(resumed.run.model() == whole.run.model());
  w.done({"eval", "half", "--set", "dataset.size=50"});

  const Outcome taken = trained(w, {"resume", "half", "--set", "epochs=4", "--set", "sources=[\"own.cpp\"]"});
  CHECK(contains(taken.err, kCompiling));
  CHECK(text_of(taken.run.path() / "sources/own.cpp") == own_model("at::relu"));
}

TEST_CASE("a sweep over an option of the user's own model compiles it once and keeps a copy", "[slow]") {
  const SourcesWorkspace w;
  w.write("own.toml", kOwn + "[sweep.parameters]\n\"model.width\" = [4, 8, 12]\n");
  const Outcome swept = w.done({"sweep", "own.toml"});
  CHECK(w.compiled().size() == 1);
  CHECK(swept.run.summary().at("status") == "completed");
  CHECK(text_of(swept.run.path() / "sources/own.cpp") == own_model());
  CHECK(text_of(swept.run.path() / "trials/002/sources/own.cpp") == own_model());
}

TEST_CASE("an option of the user's own model is checked like any other", "[slow]") {
  const SourcesWorkspace w;
  w.refused({"validate", "own.toml", "--set", "model.widht=3"}, {"did you mean \"width\"?"});
}

}  // namespace ddp::system_test
