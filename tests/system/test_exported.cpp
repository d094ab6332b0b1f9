// Models that were written in Python: what a run on one does, and the files that are refused before anything starts.
#include <sys/stat.h>
#include <filesystem>

#include "catch.h"
#include "exported.h"
#include "predicting.h"
#include "struck.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// These verbs exit with 2 and name net.pt2 and `what`; nothing is written.
void check_archive_refused(const ExportedWorkspace& w, const std::string& what,
                           const std::vector<std::string>& verbs = {"validate", "plan", "run"}) {
  INFO(what);
  for (const std::string& verb : verbs) {
    const Outcome refused = w.run({verb, "arrays.toml", "--set", kExported});
    INFO(verb << ": " << refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, what));
    CHECK(contains(refused.err, "net.pt2"));
    CHECK_FALSE(refused.left);
    CHECK_FALSE(fs::exists(w.results()));
  }
}

void check_refused(const ExportedWorkspace& w, const std::vector<Edit>& edits, const std::string& what) {
  w.write("net.pt2", exported_model(edits));
  check_archive_refused(w, what);
}

// The model does not fit the data, which `validate` does not read.
void check_misfit(const ExportedWorkspace& w, const std::vector<Edit>& edits, const std::string& what) {
  w.write("net.pt2", exported_model(edits));
  check_archive_refused(w, what, {"plan", "run"});
}

// One member that the directory names twice: it claims more bytes than the archive has.
std::string overlapping_archive() {
  const std::string whole = ZipBytes().add("net/1", std::string(4096, 'x'), /*pack=*/false).bytes();
  const std::size_t begin = whole.find("PK\x01\x02");
  const std::string entry = whole.substr(begin, whole.find("PK\x05\x06") - begin);
  std::string again = entry;
  again[again.rfind('1')] = '2';
  return whole.substr(0, begin) + entry + again + "PK\x05\x06" + little_endian(0, 4) + little_endian(2, 2) +
         little_endian(2, 2) + little_endian(2 * entry.size(), 4) + little_endian(begin, 4) + little_endian(0, 2);
}

const std::string kAnyBatch = "{\"as_expr\": {\"expr_str\": \"Symbol('s77', positive=True)\"}}";

}  // namespace

TEST_CASE("a run on a model of Python that is killed inside an epoch and resumed has the same bits") {
  const ExportedWorkspace w;
  const auto [killed, whole] = kill_and_resume(w, "arrays", {kExported});
  CHECK(killed.model() == whole.model());
  CHECK(killed.training() == whole.training());
  CHECK(text_of(killed.path() / "checkpoints/latest/optimizer.safetensors") ==
        text_of(whole.path() / "checkpoints/latest/optimizer.safetensors"));
}

TEST_CASE("a model of Python that was trained is planned, measured, exported and asked like any other") {
  const ExportedWorkspace w;
  const std::vector<std::string> sets{"--set", kExported, "--set", "validation={split=0.2}"};
  const auto with_sets = [&](std::vector<std::string> words) {
    words.insert(words.end(), sets.begin(), sets.end());
    return w.run(words);
  };
  CHECK(with_sets({"validate", "arrays.toml"}).code == 0);
  CHECK(contains(with_sets({"plan", "arrays.toml"}).out, "exported, 15 parameters"));
  const Outcome trained = with_sets({"run", "arrays.toml"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);

  const Outcome measured = w.run({"eval", "arrays"});
  CHECK(measured.code == 0);
  CHECK(contains(measured.out, "val_loss"));
  CHECK(w.run({"export", "arrays", "out.safetensors"}).code == 0);
  const std::string weights = text_of(w.folder() / "out.safetensors");
  CHECK(contains(weights, "fc.weight"));
  CHECK(contains(weights, "fc.bias"));
  // In evaluation nothing is dropped: two answers are the same.
  const Outcome once = w.run({"predict", "arrays", "x.npy"});
  CHECK(once.code == 0);
  CHECK(once.out == w.run({"predict", "arrays", "x.npy"}).out);
}

TEST_CASE("a file that torch.export did not write is refused as a model") {
  const ExportedWorkspace w;
  const std::string whole = exported_model();
  w.write("net.pt2", "no zip");
  check_archive_refused(w, "is no zip archive, or cut off");
  w.write("net.pt2", whole.substr(0, whole.size() / 2));
  check_archive_refused(w, "is no zip archive, or cut off");
  w.write("net.pt2", exported_model({}, /*packed=*/true));
  check_archive_refused(w, "is packed");
  std::string flipped = whole;
  flipped[flipped.find("aten.linear")] = 'A';
  w.write("net.pt2", flipped);
  check_archive_refused(w, "\"models/model.json\" is damaged");
  w.write("net.pt2", ZipBytes().add("readme.txt", "hello", /*pack=*/false).bytes());
  check_archive_refused(w, "it is no archive of torch.export");
  w.write("net.pt2", ZipBytes().add("net/readme.txt", "hello", /*pack=*/false).bytes());
  check_archive_refused(w, "it has no member \"models/model.json\"");
  w.write("net.pt2", overlapping_archive());
  check_archive_refused(w, "its members overlap");
  fs::remove(w.folder() / "net.pt2");
  check_archive_refused(w, "o such file");
  REQUIRE(mkfifo((w.folder() / "net.pt2").c_str(), 0600) == 0);
  check_archive_refused(w, "net.pt2");
}

TEST_CASE("weights that are pickled, or do not lie in their member, are refused") {
  const ExportedWorkspace w;
  check_refused(w, {{"\"use_pickle\": false", "\"use_pickle\": true"}}, "it is pickled, and pickles are never read");
  check_refused(w, {{"{\"as_int\": 3}, {\"as_int\": 4}", "{\"as_int\": 4}, {\"as_int\": 4}"}}, "larger than its file");
  check_refused(w, {{"{\"as_int\": 3}, {\"as_int\": 4}", "{\"as_int\": 4611686018427387904}, {\"as_int\": 4}"}},
                "larger than its file");
  check_refused(w, {{"\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 1}"}},
                "larger than its file");
  check_refused(w, {{"[{\"as_int\": 4}, {\"as_int\": 1}]", "[{\"as_int\": 0}, {\"as_int\": 1}]"}},
                "its elements share memory");
  check_refused(w,
                {{"{\"as_int\": 3}, {\"as_int\": 4}", "{\"as_int\": 1099511627776}, {\"as_int\": 4}"},
                 {"[{\"as_int\": 4}, {\"as_int\": 1}]", "[{\"as_int\": 0}, {\"as_int\": 1}]"}},
                "its elements share memory");
  check_refused(w, {{"\"path_name\": \"weight_0\"", "\"path_name\": \"../weight_0\""}}, "it has no member");
  check_refused(w, {{"\"fc.bias\"", "\"fc.other\""}, {"\"fc.bias\"", "\"fc.another\""}}, "is missing");
  check_refused(w, {{"\"dtype\": 7, \"sizes\": [{\"as_int\": 3}]", "\"dtype\": 9, \"sizes\": [{\"as_int\": 3}]"}},
                "numbers of type 9 are not trained with");
}

TEST_CASE("a graph that calls what no model may call is refused with the line of its Python") {
  const ExportedWorkspace w;
  const std::string linear = "torch.ops.aten.linear.default";
  const std::string line = "net.py, line 6: x = self.fc(x)";
  for (const auto& [target, what] : std::vector<Edit>{
           {"torch.ops.aten.from_file.default", "calls aten.from_file, which is not on the list of operators"},
           {"torch.ops.aten.linear.out", "which is not on the list of operators"},
           {"torch.ops.aten.linear.other", "which this PyTorch lacks"},
           {"torch.ops.mine.twice.default", "calls the custom operator \"torch.ops.mine.twice.default\""},
           {"torch.ops.higher_order.cond", "control flow that depends on data is not trained"},
           {"os.system", "calls \"os.system\", which is not allowed in a graph"}}) {
    check_refused(w, {{linear, target}}, what);
    check_refused(w, {{linear, target}}, line);
  }
  check_refused(w, {{"\"as_tensor\": {\"name\": \"dropout\"}}}", "\"as_tensor\": {\"name\": \"later\"}}}"}},
                "no node returns \"later\"\n  in " + line);
  check_refused(w, {{"\"name\": \"bias\"", "\"name\": \"beside\""}},
                "has an unknown argument \"beside\"\n  in " + line);
  check_refused(w, {{"\"as_float\": 0.25", "\"as_string\": \"much\""}}, "net.py, line 5: x = self.dropout(x)");
  check_refused(w,
                {{"torch.ops.aten.dropout.default", "torch.ops.aten.bernoulli.default"},
                 {"\"name\": \"input\"", "\"name\": \"self\""},
                 {R"(, {"name": "p", "arg": {"as_float": 0.25}},
                  {"name": "train", "arg": {"as_bool": true}}])",
                  "]"}},
                "draws random numbers with aten.bernoulli in evaluation, too\n  in net.py, line 5");
}

TEST_CASE("a model that would write into its buffers or weights in evaluation is refused without a graph of its own") {
  const ExportedWorkspace w;
  check_refused(w,
                {{"torch.ops.aten.dropout.default", "torch.ops.aten.mul_.Tensor"},
                 {"{\"name\": \"input\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}}",
                  "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"p_fc_bias\"}}}"},
                 {R"({"name": "p", "arg": {"as_float": 0.25}},
                  {"name": "train", "arg": {"as_bool": true}}])",
                  R"({"name": "other", "arg": {"as_float": 0.25}}])"}},
                "changes the tensor \"fc.bias\" of the model in evaluation, too\n  in net.py, line 5");
}

TEST_CASE("a model of Python is refused where data_parallel would copy it onto several devices") {
  const ExportedWorkspace w;
  const Outcome refused = w.run({"plan", "arrays.toml", "--set", kExported, "--set", "parallel=data_parallel", "--set",
                                 "device_pool=[[\"cpu\", \"cpu\"]]"});
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "a model written in Python is on one device of its rank"));
}

TEST_CASE("validate reads the graph of a model of Python and runs nothing of it") {
  const ExportedWorkspace w;
  w.write("net.pt2", exported_model({{"\"as_float\": 0.25", "\"as_float\": 1.25"}}));
  CHECK(w.run({"validate", "arrays.toml", "--set", kExported}).code == 0);
  check_archive_refused(w, "dropout probability has to be between 0 and 1", {"plan"});
}

TEST_CASE("a model whose inputs or outputs do not fit is refused before it trains") {
  const ExportedWorkspace w;
  check_misfit(w, {{kAnyBatch + ", {\"as_int\": 4}", kAnyBatch + ", {\"as_int\": 5}"}},
               "the model was exported for an input \"x\" of shape [1 to 64, 5] and type Float, and the dataset gives");
  check_misfit(w, {{"\"x\": {\"dtype\": 7", "\"x\": {\"dtype\": 5"}}, "of shape [1 to 64, 4] and type Long");
  check_refused(w,
                {{"[{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"linear\"}}}}]",
                  "[{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"linear\"}}}}, "
                  "{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"dropout\"}}}}]"},
                 {R"({\"type\": null, \"context\": null, \"children_spec\": []})",
                  R"({\"type\": \"builtins.dict\", \"context\": \"[\\\"a\\\", \\\"b\\\"]\", \"children_spec\": )"
                  R"([{\"type\": null, \"context\": null, \"children_spec\": []}, )"
                  R"({\"type\": null, \"context\": null, \"children_spec\": []}]})"}},
                "forward returns a dict without \"logits\"; it has: a, b");
  check_refused(w, {{"\"major\": 8", "\"major\": 9"}}, "it was written by another version of PyTorch");
}

TEST_CASE("batches of a size for which a model of Python was not exported are refused before it trains") {
  const ExportedWorkspace w;  // batches of 4 from 100 samples, over two ranks
  const auto planned = [&](std::vector<std::string> sets) {
    std::vector<std::string> words{"plan", "arrays.toml", "--set", kExported};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    return w.run(words);
  };
  const auto check_sizes = [&](const std::vector<std::string>& sets, const std::string& key, const std::string& what) {
    const Outcome refused = planned(sets);
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, key));
    CHECK(contains(refused.err, what));
  };
  w.write("net.pt2", exported_model({{"\"max_val\": 64", "\"max_val\": 3"}}));
  check_sizes({}, "batch_size", "training have 4 samples, and the model was exported for batches of 1 to 3");
  w.write("net.pt2", exported_model({{"\"min_val\": 1", "\"min_val\": 3"}}));
  check_sizes({}, "drop_last_batch",
              "last batch of training has 2 samples, and the model was exported for batches of 3");
  CHECK(planned({"loader.drop_last_batch=true"}).code == 0);

  w.write("net.pt2", exported_model({{kAnyBatch, "{\"as_int\": 4}"}}));
  check_sizes({"batch_size=8"}, "torch.export.Dim", "have 8 samples, and the model was exported for batches of 4");
  const std::string whole = "loader.drop_last_batch=true";
  check_sizes({whole, "validation={split=0.1}"}, "validation.batch_size", "last batch of validation has 2 samples");
  const Outcome trained =
      w.run({"run", "arrays.toml", "--set", kExported, "--set", whole, "--set", "validation={split=0.12}"});
  INFO(trained.err);
  CHECK(trained.code == 0);
}

TEST_CASE("export gives a model of Python back with the weights of a checkpoint") {
  const ExportedWorkspace w;
  REQUIRE(w.run({"run", "arrays.toml", "--set", kExported}).code == 0);
  const auto exported = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"export", "arrays"});
    const Outcome outcome = w.run(words);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return text_of(w.folder() / words.at(2));
  };
  const std::string latest = exported({"out.pt2"});
  CHECK(contains(latest, kGraph));
  CHECK(latest != exported({"earlier.pt2", "--from", "24"}));
  const std::string weights = exported({"out.safetensors"});
  CHECK(contains(latest, weights.substr(weights.size() - 12)));  // of fc.bias or fc.weight
  // That graph drops nothing; the other one trains again.
  CHECK(contains(exported({"evaluates.pt2", "--eval"}), "\"as_bool\":false"));
  const Outcome again = w.run({"run", "arrays.toml", "--set", R"(model={name="exported",path="out.pt2"})"});
  INFO(again.err);
  CHECK(again.code == 0);
}

TEST_CASE("export refuses an archive that is not the one that was trained, and leaves nothing") {
  const ExportedWorkspace w;
  REQUIRE(w.run({"run", "arrays.toml", "--set", kExported}).code == 0);
  w.write("out.pt2", "mine");
  const auto before = visible_files(w.folder());
  const auto check_export_fails = [&](const std::string& output, const std::string& what,
                                      const std::string& flag = "") {
    std::vector<std::string> words{"export", "arrays", output};
    if (!flag.empty()) words.push_back(flag);
    const Outcome refused = w.run(words);
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, what));
    CHECK(text_of(w.folder() / "out.pt2") == "mine");
  };
  check_export_fails("net.pt2", "is the model's own file");
  check_export_fails("out.safetensors", "is of a .pt2 file alone", "--eval");
  CHECK(visible_files(w.folder()) == before);
  w.write("net.pt2", exported_model({{"\"fc.bias\"", "\"fc.other\""}, {"\"fc.bias\"", "\"fc.other\""}}));
  check_export_fails("out.pt2", "is not the archive that was trained: the run has the weight \"fc.bias\"");
  fs::remove(w.folder() / "net.pt2");
  check_export_fails("out.pt2", "net.pt2");
}

}  // namespace ddp::system_test
