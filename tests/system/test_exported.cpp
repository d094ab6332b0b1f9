// Runs of models that were written in Python.
#include <filesystem>

#include "catch.h"
#include "exported.h"
#include "predicting.h"
#include "struck.h"

namespace ddp::system_test {
namespace fs = std::filesystem;

TEST_CASE("a run on a model of Python that is killed inside an epoch and resumed has the same bits") {
  const ExportedWorkspace w;
  kill_and_resume(w, "arrays", {kExported});
}

TEST_CASE("a trained model of Python is planned, measured, exported and used for prediction like any other") {
  const ExportedWorkspace w;
  const Words sets{kExported, "validation={split=0.2}"};
  w.done(with_sets({"validate", "arrays.toml"}, sets));
  CHECK(contains(w.done(with_sets({"plan", "arrays.toml"}, sets)).out, "exported, 15 parameters"));
  w.done(with_sets({"run", "arrays.toml"}, sets));
  const Outcome measured = w.done({"eval", "arrays"});
  CHECK(contains(measured.out, "val_loss"));
  w.done({"export", "arrays", "out.safetensors"});
  const std::string weights = text_of(w.folder() / "out.safetensors");
  CHECK(contains(weights, "fc.weight"));
  CHECK(contains(weights, "fc.bias"));
  // In evaluation no value is dropped: two predictions are the same.
  const Outcome once = w.done({"predict", "arrays", "x.npy"});
  CHECK(once.out == w.run({"predict", "arrays", "x.npy"}).out);
}

TEST_CASE("a model of Python that changes its inputs in place trains and is measured") {
  const ExportedWorkspace w;
  w.write("net.pt2", exported_model({{"torch.ops.aten.dropout.default", "torch.ops.aten.mul_.Tensor"},
                                     {"\"name\": \"input\"", "\"name\": \"self\""},
                                     {R"({"name": "p", "arg": {"as_float": 0.25}},
                  {"name": "train", "arg": {"as_bool": true}}])",
                                      R"({"name": "other", "arg": {"as_float": 0.5}}])"}}));
  w.done({"run", "arrays.toml", "--set", kExported, "--set", "validation={split=0.2}"});
  w.done({"eval", "arrays"});
}

TEST_CASE("batches of a size for which a model of Python was not exported are refused before it trains") {
  const ExportedWorkspace w;  // batches of 4 from 100 samples, over two ranks
  const Words plan{"plan", "arrays.toml", "--set", kExported};
  const auto check_sizes = [&](const Words& sets, const std::string& key, const std::string& what) {
    w.refused(with_sets(plan, sets), {key, what});
  };
  w.write("net.pt2", exported_model({{"\"max_val\": 64", "\"max_val\": 3"}}));
  check_sizes({}, "batch_size", "its batches have 4 samples, but the model was exported for batches of 1 to 3");
  w.write("net.pt2", exported_model({{"\"min_val\": 1", "\"min_val\": 3"}}));
  check_sizes({}, "export the model again", "last batch has 2 samples, but the model was exported for batches of 3");
  w.done(with_sets(plan, {"loader.drop_last_batch=true"}));

  w.write("net.pt2", exported_model({{kAnyBatch, "{\"as_int\": 4}"}}));
  check_sizes({"batch_size=8"}, "export the model again", "have 8 samples");
  const std::string whole = "loader.drop_last_batch=true";
  check_sizes({whole, "validation={split=0.1}"}, "validation.batch_size", "last batch has 2 samples");
  w.done({"run", "arrays.toml", "--set", kExported, "--set", whole, "--set", "validation={split=0.12}"});
}

TEST_CASE("export returns a model of Python with the weights of a checkpoint") {
  const ExportedWorkspace w;
  w.done({"run", "arrays.toml", "--set", kExported});
  const auto exported = [&](Words words) {
    words.insert(words.begin(), {"export", "arrays"});
    w.done(words);
    return text_of(w.folder() / words.at(2));
  };
  const std::string latest = exported({"out.pt2"});
  CHECK(contains(latest, kGraph));
  CHECK(latest != exported({"earlier.pt2", "--from", "24"}));
  const std::string weights = exported({"out.safetensors"});
  CHECK(contains(latest, weights.substr(weights.size() - 12)));  // part of fc.bias or fc.weight
  // The evaluation graph has no dropout; the other graph trains again.
  CHECK(contains(exported({"evaluates.pt2", "--eval"}), "\"as_bool\":false"));
  w.done({"run", "arrays.toml", "--set", R"(model={name="exported",path="out.pt2"})"});
}

TEST_CASE("export refuses to replace the model's own files and leaves nothing") {
  const ExportedWorkspace w;
  w.done({"run", "arrays.toml", "--set", kExported});
  w.write("out.pt2", "mine");
  const auto before = visible_files(w.folder());
  const auto check_export_fails = [&](const std::string& output, const std::string& what,
                                      const std::string& flag = "") {
    Words words{"export", "arrays", output};
    if (!flag.empty()) words.push_back(flag);
    w.refused(words, {what});
    CHECK(text_of(w.folder() / "out.pt2") == "mine");
  };
  check_export_fails("net.pt2", "is the model's own file");
  check_export_fails("out.safetensors", "applies only to a .pt2 file", "--eval");
  CHECK(visible_files(w.folder()) == before);
  const std::string copy = "results/arrays/latest/model/model.pt2";
  const std::string kept = text_of(w.folder() / copy);
  w.refused({"export", "arrays", copy}, {"is the model's own file"});
  CHECK(text_of(w.folder() / copy) == kept);
}

TEST_CASE("a model that was exported for evaluation trains with a warning that says so") {
  const ExportedWorkspace w;
  const std::string warning = "net.pt2: was exported from model.eval()";
  CHECK_FALSE(contains(w.run({"plan", "arrays.toml", "--set", kExported}).err, warning));
  w.write("net.pt2", exported_model({{"\"as_bool\": true", "\"as_bool\": false"}}));
  for (const char* verb : {"plan", "run"}) {
    w.done({verb, "arrays.toml", "--set", kExported}, {warning});
  }
}

TEST_CASE("a SyncBatchNorm that was exported is a warning on several ranks, unless the experiment synchronises it") {
  const ExportedWorkspace w;
  w.write("net.pt2", exported_model(with_synced_norm()));
  const std::string warning = "net.pt2: SyncBatchNorm is not synchronised among ranks without sync_batch_norm = true";
  w.done({"plan", "arrays.toml", "--set", kExported}, {warning});
  for (const char* set : {"device_pool=[\"cpu\"]", "model.sync_batch_norm=true"}) {
    const Outcome without = w.done({"plan", "arrays.toml", "--set", kExported, "--set", set});
    CHECK_FALSE(contains(without.err, warning));
  }
}

TEST_CASE("a parameter that the loss does not depend on is named before anything starts, with the keys that allow it") {
  const ExportedWorkspace w;
  w.write(
      "net.pt2",
      exported_model(
          {{",\n                  {\"name\": \"bias\", \"arg\": {\"as_tensor\": {\"name\": \"p_fc_bias\"}}}", ""}}));
  for (const char* verb : {"plan", "run"}) {
    for (const char* set : {"epochs=1", "device_pool=[\"cpu\"]"}) {
      w.refused({verb, "arrays.toml", "--set", kExported, "--set", set},
                {"--set 1: the loss does not depend on these parameters, so they have no gradient: fc.bias\n",
                 "name them in freeze", "--set distributed.find_unused_parameters=true"});
      CHECK_FALSE(fs::exists(w.results()));
    }
  }
  for (const char* set : {"distributed.static_graph=true", "freeze=[\"fc.bias\"]"}) {
    w.done({"run", "arrays.toml", "--set", kExported, "--set", set});
  }
  const Words sets{kExported, "distributed.find_unused_parameters=true", "epochs=4"};
  const RunFolder eager = w.done(with_sets({"run", "arrays.toml", "--set", "replay=off"}, sets)).run;
  const RunFolder replayed = w.done(with_sets({"run", "arrays.toml", "--set", "replay=require"}, sets)).run;
  CHECK(replayed.model() == eager.model());
  CHECK(replayed.summary().at("replay").at("steps") > 0);
  CHECK(replayed.summary().at("replay").at("unused_parameters") == 1);
  // Without DDP nothing waits for a gradient.
  w.done({"run", "arrays.toml", "--set", kExported, "--set", "parallel=single", "--set", "device_pool=[\"cpu\"]"});
}

TEST_CASE("rows that a model of Python does not take are named with their file and both shapes") {
  const ExportedWorkspace w;
  w.done({"run", "arrays.toml", "--set", kExported});
  w.write("wide.npy", npy_of("<f4", "(2, 5)", std::vector<float>(10)));
  w.refused({"predict", "arrays", "wide.npy"}, {"wide.npy: has rows of shape [5]", "[1 to 64, 4]"});
}

TEST_CASE("outputs that are probabilities get a warning if the loss applies a softmax itself") {
  const ArrayWorkspace w;
  const auto planned = [&](const std::string& last) {
    return w.run(
        {"plan", "arrays.toml", "--set",
         "model={name=\"sequential\", layers=[{type=\"Linear\", in_features=4, out_features=3}" + last + "]}"});
  };
  CHECK(contains(planned(", {type=\"Softmax\", dim=1}").err, "the model's outputs are probabilities"));
  CHECK_FALSE(contains(planned("").err, "probabilities"));
}

TEST_CASE("outputs whose shape depends on the number of rows are refused by predict") {
  const ExportedWorkspace w;
  w.write("y.npy", npy_of("<i8", "(100,)", std::vector<std::int64_t>(100, 0)));
  // The inner products of all rows: [n, n].
  w.write("net.pt2", exported_model({{R"("outputs": [{"as_tensor": {"name": "linear"}}],)",
                                      R"("outputs": [{"as_tensor": {"name": "rows"}}],)"},
                                     {R"x(return F.linear(input)"}}],)x", R"x(return F.linear(input)"}},
      {"target": "torch.ops.aten.linear.default",
       "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "rows"}}},
                  {"name": "weight", "arg": {"as_tensor": {"name": "rows"}}}],
       "outputs": [{"as_tensor": {"name": "linear"}}],
       "metadata": {}}],)x"}}));
  const Outcome run = w.done({"run", "arrays.toml", "--set", kExported, "--set", "loader.drop_last_batch=true"});
  w.refused({"predict", run.run.path(), "x.npy"}, {"shape [4, 4] for 4 rows, but of shape [1, 1]"});
}

}  // namespace ddp::system_test
