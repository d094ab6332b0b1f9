// Runs on a user's own sources in use: commands that take a trained model, and ranks that cannot load the library.
#include "arrays.h"
#include "catch.h"
#include "looking.h"
#include "sources.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// Code of a source that spoils the plug-in in the first process that loads it after the file "spoil" was written, which
// is the process that probes the model; the file "spoilt" records it. The ranks load the plug-in later. With the word
// "remove" in the file the library is deleted; with "throw" the next process that loads it throws; with "destructor" a
// destructor throws in its first step.
const std::string kSpoils = R"(
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <ATen/ops/tanh.h>
namespace {
bool destructor_throws = false;
const bool is_spoilt = [] {
  std::string word;
  std::ifstream("spoil") >> word;
  if (word.empty()) return false;
  const bool is_next = std::filesystem::exists("spoilt");
  if (word == "throw" && is_next) throw std::runtime_error("no luck");
  destructor_throws = word == "destructor" && is_next;
  std::ofstream("spoilt") << word;
  if (word != "remove") return true;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("cache/ddp-exp/plugins")) {
    std::filesystem::remove(entry.path() / "plugin.so", ignored);
  }
  return true;
}();

struct Step {
  ~Step() {
    if (destructor_throws) throw std::runtime_error("no luck in a destructor");
  }
};

at::Tensor spoilt_tanh(const at::Tensor& x) {
  const Step step;
  return at::tanh(x);
}
}  // namespace
)";

// Requires that the run begins, its ranks fail, and the reason is reported.
void check_ranks_fail(const SourcesWorkspace& w, const std::string& word, const std::string& reason) {
  fs::remove(w.folder() / "spoilt");
  w.write("spoil", word);
  const Outcome failed =
      w.ends(1, {"run", "own.toml", "--name", word, "--set", "seed=" + std::to_string(word.size())}, {reason});
  REQUIRE(failed.run.exists());
  const Json summary = failed.run.summary();
  CHECK(summary.at("status") == "failed");
  CHECK(contains(summary.at("error").at("what").get<std::string>(), reason));
  CHECK(summary.at("error").at("rank").get<int>() >= 0);
}

// A text model that knows a single token.
const std::string kPairsExperiment = R"(
sources     = ["own.cpp"]
model       = "pairs"
dataset     = { name = "text", path = "a.txt", tokenizer = "char", block_size = 4 }
device_pool = ["cpu", "cpu"]
batch_size  = 2
steps       = 2
)";

const std::string kPairs = R"(#include <optional>

#include <torch/nn/modules/embedding.h>

#include "models/model.h"

namespace ddp::models {
namespace {

struct PairsOptions {
  std::optional<std::int64_t> vocab_size;
  void fields(config::Fields& f) {
    f({.name = "vocab_size", .doc = "tokens", .range = config::at_least(1), .from_data = "vocab_size"}, vocab_size);
  }
};

struct PairsImpl : torch::nn::Module {
  explicit PairsImpl(const PairsOptions& o) {
    next = register_module("next", torch::nn::Embedding(o.vocab_size.value(), o.vocab_size.value()));
  }
  at::Tensor forward(at::Tensor tokens) { return next(tokens); }
  torch::nn::Embedding next{nullptr};
};

const bool pairs_registered =
    registry().add<PairsOptions>("pairs", "the next token by this one", [](const PairsOptions& o, const Placement&) {
      return torch::nn::AnyModule(std::make_shared<PairsImpl>(o));
    });

}  // namespace
}  // namespace ddp::models
)";

}  // namespace

TEST_CASE("the user's own model is measured, predicts, is exported and forked after its file has gone", "[slow]") {
  const SourcesWorkspace w;
  w.done({"new", "model", "mine"});
  const std::string text = text_of(w.folder() / "mine.cpp");
  const ArrayData data(203);
  w.write("x.npy", data.x_npy());
  w.write("y.npy", data.y_npy());
  w.write("rows.toml", R"(
sources     = ["mine.cpp"]
model       = { name = "mine", width = 8 }
dataset     = { name = "npy", inputs = "x.npy", targets = "y.npy" }
loss        = "cross_entropy"
device_pool = ["cpu", "cpu"]
epochs      = 2
threads     = 1
validation  = { split = 0.2 }
)");
  const Outcome run = w.done({"run", "rows.toml"});
  fs::remove(w.folder() / "mine.cpp");

  const auto use = [&](const Words& arguments) {
    const Outcome used = w.done(arguments);
    CHECK_FALSE(contains(used.err, "compiling"));
    return used;
  };
  CHECK(contains(use({"eval", "rows"}).out, "val_accuracy"));
  use({"predict", "rows", "x.npy", "-o", "out.csv"});
  CHECK(lines_of(text_of(w.folder() / "out.csv")).size() == 204);
  use({"export", "rows", "out.safetensors", "--from", "latest"});
  CHECK(text_of(w.folder() / "out.safetensors") == run.run.model());
  const Outcome forked = use({"fork", "rows", "--name", "forked", "--set", "epochs=3"});
  CHECK(text_of(forked.run.path() / "sources/mine.cpp") == text);
  CHECK(forked.run.summary().at("origin").at("run") == "rows/" + run.run.path().filename().string());

  // Without the cache it is compiled from the run's own copy.
  fs::remove_all(w.folder() / "cache");
  const Outcome anew = w.done({"eval", "forked"});
  CHECK(contains(anew.err, "compiling mine.cpp"));
}

TEST_CASE("the user's own text model continues a prompt", "[slow]") {
  const SourcesWorkspace w;
  w.write("own.cpp", kPairs);
  w.write("a.txt", "to be or not to be that is the question whether it is nobler in the mind");
  w.write("text.toml", kPairsExperiment);
  w.done({"run", "text.toml"});
  const Outcome generated = w.done({"generate", "text", "--prompt", "to be", "--tokens", "8", "--json"});
  CHECK(Json::parse(generated.out).at("tokens").size() == 8);
}

TEST_CASE(
    "a model with fewer tokens than the data is refused before a run, though its first batch has none of the others",
    "[slow]") {
  const SourcesWorkspace w;
  // A model that takes its number of tokens from an option, and not from the data.
  const std::string from_data = ".value(), o.vocab_size.value()";
  std::string text = kPairs;
  text.replace(text.find(from_data), from_data.size(), ".value() - 1, o.vocab_size.value()");
  const std::string name = "std::optional<std::int64_t> vocab_size;";
  text.replace(text.find(name), name.size(), "std::int64_t vocab_size = 27;");
  for (std::size_t at = text.find("vocab_size"); at != std::string::npos; at = text.find("vocab_size", at)) {
    text.replace(at, std::string("vocab_size").size(), "rows");
  }
  const std::string known = ", .from_data = \"rows\"";
  text.replace(text.find(known), known.size(), "");
  for (std::size_t at = text.find(".value()"); at != std::string::npos; at = text.find(".value()")) text.erase(at, 8);
  w.write("own.cpp", text);
  w.write("a.txt", std::string(200, 'a') + "bcdefghijklmnopqrstuvwxyz z");
  w.write("text.toml", kPairsExperiment);
  w.refused({"run", "text.toml"}, {"have 27 tokens, and the model takes fewer"});
}

TEST_CASE(
    "ranks that cannot load the compiled sources, or whose destructors throw, say why on stderr and in summary.json",
    "[slow]") {
  const SourcesWorkspace w;
  w.write("own.cpp", kSpoils + own_model("spoilt_tanh"));
  w.done({"validate", "own.toml"});
  check_ranks_fail(w, "throw", "throws an exception during loading: no luck");
  check_ranks_fail(w, "destructor", "no luck in a destructor");
  check_ranks_fail(w, "remove", "plugin.so: cannot open shared object file");
}

TEST_CASE("drawn data is tried with a whole batch before anything starts") {
  const Workspace w("drawn.toml", R"(
model       = { name = "mlp", in_features = 10, hidden = [4], out_features = 5 }
dataset     = { name = "random_batch", keep = 8 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
steps       = 2
)");
  w.done({"plan", "drawn.toml"});
  for (const std::string verb : {"plan", "run"}) {
    w.refused({verb, "drawn.toml", "--set", "dataset.keep=7"}, {"keeps 7 samples, fewer than a batch of 8"});
  }
  CHECK_FALSE(fs::exists(w.results()));
}

}  // namespace ddp::system_test
