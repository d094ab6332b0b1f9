#include <sys/stat.h>
#include <array>
#include <filesystem>

#include "catch.h"
#include "exported.h"

// Models that were written in Python: files that are refused before anything starts.
namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// One member that the directory lists twice: it claims more bytes than the archive has.
std::string overlapping_archive() {
  const std::string whole = ZipBytes().add("net/1", std::string(4096, 'x'), /*pack=*/false).bytes();
  const std::size_t begin = whole.find("PK\x01\x02");
  const std::string entry = whole.substr(begin, whole.find("PK\x05\x06") - begin);
  std::string again = entry;
  again[again.rfind('1')] = '2';
  return whole.substr(0, begin) + entry + again + "PK\x05\x06" + little_endian(0, 4) + little_endian(2, 2) +
         little_endian(2, 2) + little_endian(2 * entry.size(), 4) + little_endian(begin, 4) + little_endian(0, 2);
}

}  // namespace

TEST_CASE(
    "a file that is not an undamaged archive of torch.export is named with its option, the damage, and the remedy",
    "[slow]") {
  const ExportedWorkspace w;
  const std::string whole = exported_model();
  std::string experiment = text_of(w.folder() / "arrays.toml");
  const std::size_t begin = experiment.find("model =");
  experiment.replace(begin, experiment.find('\n', begin) - begin,
                     "model = { name = \"exported\", path = \"net.pt2\" }");
  w.write("arrays.toml", experiment);
  std::string flipped = whole;
  flipped[flipped.find("aten.linear")] = 'A';
  const auto archive = [](const std::vector<Edit>& members) {
    ZipBytes zip;
    for (const auto& [name, bytes] : members) zip.add(name, bytes, /*pack=*/false);
    return zip.bytes();
  };
  const Edit graph{"net/models/model.json", kGraph};
  const Edit weights{"net/data/weights/model_weights_config.json", kWeights};
  const std::string place = "arrays.toml:3:37: " + (w.folder() / "net.pt2").string() + ": ";
  const std::string remedy = "\n  export the model again: python/export_model.py, or torch.export.save";
  for (const auto& [file, what] : std::vector<Edit>{
           {whole.substr(0, whole.size() / 2), "is not a zip archive, or cut off\n"},
           {"no zip", "is not a zip archive, or cut off\n"},
           {flipped, "\"models/model.json\" is damaged: its checksum differs\n"},
           {archive({weights}), "it is not an archive of torch.export: it has no member \"models/model.json\"\n"},
           {archive({graph}), "the weight \"fc.weight\" is missing\n"},
           {archive({graph, weights}), "the weight \"fc.bias\": it has no member \"data/weights/weight_1\"\n"},
           {archive({{"net/data.pkl", "x"}}), "it is not an archive of torch.export"},
           {archive({{"readme.txt", "hello"}}), "it is not an archive of torch.export"},
           {exported_model({}, /*packed=*/true), "is compressed"},
           {overlapping_archive(), "its members overlap"}}) {
    w.write("net.pt2", file);
    for (const char* verb : {"validate", "plan", "run"}) w.refused({verb, "arrays.toml"}, {place, what, remedy});
  }
  fs::remove(w.folder() / "net.pt2");
  check_archive_refused(w, "o such file");
  REQUIRE(mkfifo((w.folder() / "net.pt2").c_str(), 0600) == 0);
  check_archive_refused(w, "net.pt2");
}

TEST_CASE("weights that are pickled or do not fit their member are refused", "[slow]") {
  const ExportedWorkspace w;
  check_refused(w, {{"\"use_pickle\": false", "\"use_pickle\": true"}}, "it is pickled, and pickles are not read");
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
  for (const std::string code : {"10", "28", "29", "99"}) {
    check_refused(
        w, {{"\"dtype\": 7, \"sizes\": [{\"as_int\": 3}]", "\"dtype\": " + code + ", \"sizes\": [{\"as_int\": 3}]"}},
        "numbers of a type that is not supported (" + code + " ");
  }
  std::string deep = "\"fc";
  for (int part = 0; part < 100; ++part) deep += ".fc";
  check_refused(w, {{"\"fc.bias\"", deep + "\""}, {"\"fc.bias\"", deep + "\""}}, "has more than 100 parts");
}

TEST_CASE("a graph with a forbidden call is refused with the line of its Python", "[slow]") {
  const ExportedWorkspace w;
  const std::string linear = "torch.ops.aten.linear.default";
  const std::string line = "net.py, line 6: x = self.fc(x)";
  for (const auto& [target, what] :
       std::vector<Edit>{{"torch.ops.aten.from_file.default", "calls aten.from_file, which is not an allowed operator"},
                         {"torch.ops.aten.linear.out", "which is not an allowed operator"},
                         {"torch.ops.aten.native_batch_norm.default", "which is not an allowed operator"},
                         {"torch.ops.aten.linear.other", "which this PyTorch lacks"},
                         {"torch.ops.mine.twice.default", "calls the custom operator \"torch.ops.mine.twice.default\""},
                         {"torch.ops.higher_order.cond", "data-dependent control flow is not supported"},
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
                "draws random numbers with aten.bernoulli even in evaluation\n  in net.py, line 5");
}

TEST_CASE("a model whose graph gives an operator fatal arguments is refused with the line of its Python") {
  const ExportedWorkspace w;
  const std::string dropout = "torch.ops.aten.dropout.default";
  const std::string arguments =
      R"([{"name": "input", "arg": {"as_tensor": {"name": "x"}}}, {"name": "p", "arg": {"as_float": 0.25}},
                  {"name": "train", "arg": {"as_bool": true}}])";
  const std::string line = "in net.py, line 5: x = self.dropout(x)";
  for (const auto& [target, given, what] : std::vector<std::array<std::string, 3>>{
           {"torch.ops.aten.max_pool1d.default",
            R"([{"name": "self", "arg": {"as_tensor": {"name": "x"}}}, {"name": "kernel_size", "arg": {"as_ints": [2]}},
                {"name": "dilation", "arg": {"as_ints": [9223372036854775806]}}])",
            "aten.max_pool1d: `dilation` must hold numbers of less than 2^31"},
           {"torch.ops.aten.lstm.input",
            R"([{"name": "input", "arg": {"as_tensor": {"name": "x"}}},
                {"name": "hx", "arg": {"as_tensors": [{"name": "x"}, {"name": "x"}]}},
                {"name": "params", "arg": {"as_tensors": []}}, {"name": "has_biases", "arg": {"as_bool": true}},
                {"name": "num_layers", "arg": {"as_int": 0}}, {"name": "dropout", "arg": {"as_float": 0.0}},
                {"name": "train", "arg": {"as_bool": true}}, {"name": "bidirectional", "arg": {"as_bool": false}},
                {"name": "batch_first", "arg": {"as_bool": false}}])",
            "aten.lstm: `num_layers` must be 1 or more"},
           {"torch.ops.aten.reflection_pad3d.default",
            R"([{"name": "self", "arg": {"as_tensor": {"name": "x"}}}, {"name": "padding", "arg": {"as_ints": []}}])",
            "aten.reflection_pad3d: `self` has a number of dimensions that the operator does not take"}}) {
    check_misfit(w, {{dropout, target}, {arguments, given}}, what);
    check_misfit(w, {{dropout, target}, {arguments, given}}, line);
  }
}

TEST_CASE("a number in a graph in place of a number type is refused because kernels do not check it") {
  const ExportedWorkspace w;
  check_refused(w,
                {{"torch.ops.aten.dropout.default", "torch.ops.aten._to_copy.default"},
                 {"\"name\": \"input\"", "\"name\": \"self\""},
                 {R"({"name": "p", "arg": {"as_float": 0.25}},
                  {"name": "train", "arg": {"as_bool": true}}])",
                  R"({"name": "dtype", "arg": {"as_int": -5}}])"}},
                "the argument \"dtype\" is not of type ScalarType");
}

TEST_CASE("arithmetic of a graph ends for any numbers") {
  const ExportedWorkspace w;
  w.write("net.pt2", exported_model({{"\"nodes\": [", R"("nodes": [
      {"target": "_operator.pow",
       "inputs": [{"name": "a", "arg": {"as_int": -1}}, {"name": "b", "arg": {"as_int": 9223372036854775807}}],
       "outputs": [{"as_sym_int": {"as_name": "sign"}}]},)"}}));
  w.done({"plan", "arrays.toml", "--set", kExported});
}

TEST_CASE("a model that would write to its buffers or weights in evaluation is refused without an evaluation graph") {
  const ExportedWorkspace w;
  check_refused(w,
                {{"torch.ops.aten.dropout.default", "torch.ops.aten.mul_.Tensor"},
                 {"{\"name\": \"input\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}}",
                  "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"p_fc_bias\"}}}"},
                 {R"({"name": "p", "arg": {"as_float": 0.25}},
                  {"name": "train", "arg": {"as_bool": true}}])",
                  R"({"name": "other", "arg": {"as_float": 0.25}}])"}},
                "changes the tensor \"fc.bias\" of the model even in evaluation\n  in net.py, line 5");
}

TEST_CASE("a model of Python is refused if data_parallel would copy it to several devices") {
  const ExportedWorkspace w;
  w.refused({"plan", "arrays.toml", "--set", kExported, "--set", "parallel=data_parallel", "--set",
             "device_pool=[[\"cpu\", \"cpu\"]]"},
            {"a model written in Python cannot be copied onto several devices"});
}

TEST_CASE("validate reads the graph of a model of Python and runs nothing of it") {
  const ExportedWorkspace w;
  w.write("net.pt2", exported_model({{"\"as_float\": 0.25", "\"as_float\": 1.25"}}));
  w.done({"validate", "arrays.toml", "--set", kExported});
  check_archive_refused(w, "dropout probability has to be between 0 and 1", {"plan"});
}

TEST_CASE("a model whose inputs or outputs do not fit is refused before it trains", "[slow]") {
  const ExportedWorkspace w;
  check_misfit(w, {{kAnyBatch + ", {\"as_int\": 4}", kAnyBatch + ", {\"as_int\": 5}"}},
               "the model was exported for an input \"x\" of shape [1 to 64, 5] and type Float, but it gets [2, 4]");
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
  check_refused(w, {{"\"major\": 8", "\"major\": 9"}}, "it was written by an unsupported version of PyTorch");
}

namespace {

// The edits that make the model an embedding of that many rows, with the indices "x".
std::vector<Edit> embedding(int rows, const std::string& sparse) {
  const std::string dropout = R"({"target": "torch.ops.aten.dropout.default",)";
  const std::size_t begin = kGraph.find(dropout);
  const std::string whole = kGraph.substr(begin, kGraph.find(R"({"target": "torch.ops.aten.linear)") - begin);
  return {{whole, ""},
          {"torch.ops.aten.linear.default", "torch.ops.aten.embedding.default"},
          {R"({"name": "input", "arg": {"as_tensor": {"name": "dropout"}}},
                  {"name": "weight", "arg": {"as_tensor": {"name": "p_fc_weight"}}},
                  {"name": "bias", "arg": {"as_tensor": {"name": "p_fc_bias"}}})",
           R"({"name": "weight", "arg": {"as_tensor": {"name": "p_fc_weight"}}},
                  {"name": "indices", "arg": {"as_tensor": {"name": "x"}}},
                  {"name": "sparse", "arg": )" +
               sparse + "}"},
          {"\"x\": {\"dtype\": 7", "\"x\": {\"dtype\": 5"},
          {"\"as_int\": 3}, {\"as_int\": 4", "\"as_int\": " + std::to_string(rows) + "}, {\"as_int\": 4"}};
}

}  // namespace

TEST_CASE("a model with nothing to train is refused at its key, by validate too") {
  const ExportedWorkspace w;
  const auto buffer = [](const std::string& name) {
    return Edit{
        "{\"parameter\": {\"arg\": {\"name\": \"p_fc_" + name + "\"}, \"parameter_name\": \"fc." + name + "\"}}",
        "{\"buffer\": {\"arg\": {\"name\": \"p_fc_" + name + "\"}, \"buffer_name\": \"fc." + name +
            "\", \"persistent\": true}}"};
  };
  check_refused(w, {buffer("weight"), buffer("bias")},
                "--set 1: the model has no parameters, so there is nothing to train");
  const Edit without_gradient{"\"requires_grad\": true", "\"requires_grad\": false"};
  check_refused(w, {without_gradient, without_gradient},
                "--set 1: the model has requires_grad = False in every parameter, so there is nothing to train");
  w.write("net.pt2", exported_model({without_gradient}));
  for (const std::string verb : {"validate", "plan", "run"}) {
    w.refused({verb, "arrays.toml", "--set", kExported, "--set", "freeze=[\"fc.bias\"]"},
              {"--set 2: freezes every parameter of the model"});
    CHECK_FALSE(fs::exists(w.results()));
  }
  w.refused({"plan", "arrays.toml", "--set", "model={name=\"sequential\", layers=[{type=\"Flatten\"}]}"},
            {"the model has no parameters"});
}

TEST_CASE("an embedding with a sparse gradient is refused with the line of its Python") {
  const ExportedWorkspace w;
  check_refused(
      w, embedding(/*rows=*/3, "{\"as_bool\": true}"),
      "gives the embedding a sparse gradient, and gradients must be dense\n  in net.py, line 6: x = self.fc(x)");
}

TEST_CASE("an index beyond the rows of an embedding is refused with both numbers and the line of its Python") {
  const ExportedWorkspace w;
  w.write("x.npy", npy_of("<i8", "(100, 4)", std::vector<std::int64_t>(400, 5)));
  check_misfit(w, embedding(/*rows=*/3, "{\"as_bool\": false}"),
               "an embedding has 3 rows, from 0, and gets 5, in net.py, line 6: x = self.fc(x)\n"
               "  give the table a row for each value, or correct the inputs");
}

TEST_CASE("a graph for evaluation with other weights than the model's is refused at its option") {
  const ExportedWorkspace w;
  const auto check_other = [&](const std::vector<Edit>& edits, const std::string& what) {
    w.write("other.pt2", exported_model(edits));
    for (const std::string verb : {"validate", "plan", "run"}) {
      w.refused({verb, "arrays.toml", "--set", kExported, "--set", "model.eval=other.pt2"},
                {"--set 2: ", "other.pt2 is of another model than ", what});
    }
  };
  check_other({{"\"fc.bias\"", "\"fc.other\""}, {"\"fc.bias\"", "\"fc.other\""}},
              "its weight \"fc.other\" is Float[3], and the model to train has none of this name");
  check_other({{"\"sizes\": [{\"as_int\": 3}]", "\"sizes\": [{\"as_int\": 2}]"}},
              "its weight \"fc.bias\" is Float[2], and the model to train has Float[3]");
}

}  // namespace ddp::system_test
