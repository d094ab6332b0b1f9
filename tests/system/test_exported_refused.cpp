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

const Words kDropout{"net.py, line 5: x = self.dropout(x)"};
const Words kLinear{"net.py, line 6: x = self.fc(x)"};

// The edits that replace the call of dropout, and the arguments after its input.
std::vector<Edit> instead_of_dropout(const std::string& target, const std::string& further) {
  return {{"torch.ops.aten.dropout.default", "torch.ops.aten." + target},
          {"\"name\": \"input\"", "\"name\": \"self\""},
          {R"({"name": "p", "arg": {"as_float": 0.25}},
                  {"name": "train", "arg": {"as_bool": true}}])",
           further + "]"}};
}

}  // namespace

TEST_CASE(
    "a file that is not an undamaged archive of torch.export is named with its option, the damage, and the remedy",
    "[slow]") {
  const ExportedWorkspace w;
  const std::string whole = exported_model();
  std::string flipped = whole;
  flipped[flipped.find("aten.linear")] = 'A';
  const auto archive = [](const std::vector<Edit>& members) {
    ZipBytes zip;
    for (const auto& [name, bytes] : members) zip.add(name, bytes, /*pack=*/false);
    return zip.bytes();
  };
  const Edit graph{"net/models/model.json", kGraph};
  const Edit weights{"net/data/weights/model_weights_config.json", kWeights};
  for (const auto& [file, what] : std::vector<Edit>{{whole.substr(0, whole.size() / 2), "cut off"},
                                                    {"no zip", "zip archive"},
                                                    {flipped, "\"models/model.json\" is damaged"},
                                                    {archive({weights}), "no member \"models/model.json\""},
                                                    {archive({graph}), "\"fc.weight\" is missing"},
                                                    {archive({graph, weights}), "\"data/weights/weight_1\""},
                                                    {archive({{"net/data.pkl", "x"}}), "torch.export"},
                                                    {exported_model({}, /*packed=*/true), "compressed"},
                                                    {overlapping_archive(), "overlap"}}) {
    w.write("net.pt2", file);
    check_archive_refused(w, {"--set 1: ", "net.pt2: ", what, "export_model.py"});
  }
  fs::remove(w.folder() / "net.pt2");
  check_archive_refused(w, {"o such file"});
  REQUIRE(mkfifo((w.folder() / "net.pt2").c_str(), 0600) == 0);
  check_archive_refused(w, {"net.pt2"});
}

TEST_CASE("weights that are pickled or do not fit their member are refused", "[slow]") {
  const ExportedWorkspace w;
  const auto rows = [](const std::string& number) {
    return Edit{"{\"as_int\": 3}, {\"as_int\": 4}", "{\"as_int\": " + number + "}, {\"as_int\": 4}"};
  };
  const auto bias_of_type = [](const std::string& code) {
    const std::string sizes = ", \"sizes\": [{\"as_int\": 3}]";
    return Edit{"\"dtype\": 7" + sizes, "\"dtype\": " + code + sizes};
  };
  const auto bias_named = [](const std::string& name) { return Edit{"\"fc.bias\"", "\"" + name + "\""}; };
  const Edit shared{"[{\"as_int\": 4}, {\"as_int\": 1}]", "[{\"as_int\": 0}, {\"as_int\": 1}]"};
  std::string deep = "fc";
  for (int part = 0; part < 100; ++part) deep += ".fc";
  for (const auto& [edits, what] : std::vector<std::pair<std::vector<Edit>, std::string>>{
           {{{"\"use_pickle\": false", "\"use_pickle\": true"}}, "pickle"},
           {{rows("4")}, "larger than its file"},
           {{rows("4611686018427387904")}, "larger than its file"},
           {{{"\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 1}"}}, "larger than its file"},
           {{shared}, "share memory"},
           {{rows("1099511627776"), shared}, "share memory"},
           {{{"\"path_name\": \"weight_0\"", "\"path_name\": \"../weight_0\""}}, "no member"},
           {{bias_named("fc.other"), bias_named("fc.another")}, "is missing"},
           {{bias_of_type("10")}, "(10 "},
           {{bias_of_type("28")}, "(28 "},
           {{bias_of_type("29")}, "(29 "},
           {{bias_of_type("99")}, "(99 "},
           {{bias_named(deep), bias_named(deep)}, "100 parts"},
           {{{"\"major\": 8", "\"major\": 9"}}, "unsupported version"}}) {
    check_refused(w, edits, {what});
  }
}

TEST_CASE("a graph with a forbidden call is refused with the line of its Python", "[slow]") {
  const ExportedWorkspace w;
  for (const auto& [from, to, what] : std::vector<std::array<std::string, 3>>{
           {"torch.ops.aten.linear.default", "torch.ops.aten.from_file.default", "aten.from_file"},
           {"torch.ops.aten.linear.default", "torch.ops.aten.native_batch_norm.default", "not an allowed operator"},
           {"torch.ops.aten.linear.default", "os.system", "\"os.system\""},
           {"\"as_tensor\": {\"name\": \"dropout\"}}}", "\"as_tensor\": {\"name\": \"later\"}}}", "\"later\""},
           {"\"name\": \"bias\"", "\"name\": \"beside\"", "\"beside\""}}) {
    check_refused(w, {{from, to}}, joined(kLinear, {what}));
  }
  check_refused(w, {{"\"as_float\": 0.25", "\"as_string\": \"much\""}}, kDropout);
}

TEST_CASE("a model whose graph gives an operator fatal arguments is refused with the line of its Python") {
  const ExportedWorkspace w;
  check_misfit(w, instead_of_dropout("max_pool1d.default", R"({"name": "kernel_size", "arg": {"as_ints": [2]}},
                   {"name": "dilation", "arg": {"as_ints": [9223372036854775806]}})"),
               joined(kDropout, {"aten.max_pool1d: `dilation`"}));
}

TEST_CASE("a number in a graph in place of a number type is refused because kernels do not check it") {
  const ExportedWorkspace w;
  check_refused(w, instead_of_dropout("_to_copy.default", R"({"name": "dtype", "arg": {"as_int": -5}})"),
                {"\"dtype\"", "ScalarType"});
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
  std::vector<Edit> edits = instead_of_dropout("mul_.Tensor", R"({"name": "other", "arg": {"as_float": 0.25}})");
  edits.emplace_back("{\"as_tensor\": {\"name\": \"x\"}}", "{\"as_tensor\": {\"name\": \"p_fc_bias\"}}");
  check_refused(w, edits, joined(kDropout, {"\"fc.bias\"", "in evaluation"}));
}

TEST_CASE("a model of Python is refused if data_parallel would copy it to several devices") {
  const ExportedWorkspace w;
  w.refused({"plan", "arrays.toml", "--set", kExported, "--set", "parallel=data_parallel", "--set",
             "device_pool=[[\"cpu\", \"cpu\"]]"},
            {"several devices"});
}

TEST_CASE("validate reads the graph of a model of Python and runs nothing of it") {
  const ExportedWorkspace w;
  w.write("net.pt2", exported_model({{"\"as_float\": 0.25", "\"as_float\": 1.25"}}));
  w.done({"validate", "arrays.toml", "--set", kExported});
  check_archive_refused(w, {"between 0 and 1"}, {"plan"});
}

TEST_CASE("a model whose inputs do not fit is refused before it trains", "[slow]") {
  const ExportedWorkspace w;
  check_misfit(w, {{kAnyBatch + ", {\"as_int\": 4}", kAnyBatch + ", {\"as_int\": 5}"}},
               {"\"x\"", "[1 to 64, 5]", "[2, 4]"});
  check_misfit(w, {{"\"x\": {\"dtype\": 7", "\"x\": {\"dtype\": 5"}}, {"[1 to 64, 4]", "Long"});
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
  check_refused(w, {buffer("weight"), buffer("bias")}, {"--set 1: ", "no parameters"});
  const Edit without_gradient{"\"requires_grad\": true", "\"requires_grad\": false"};
  check_refused(w, {without_gradient, without_gradient}, {"--set 1: ", "requires_grad = False"});
  w.write("net.pt2", exported_model({without_gradient}));
  for (const std::string verb : {"validate", "plan", "run"}) {
    w.refused({verb, "arrays.toml", "--set", kExported, "--set", "freeze=[\"fc.bias\"]"},
              {"--set 2: ", "every parameter"});
    CHECK_FALSE(fs::exists(w.results()));
  }
  w.refused({"plan", "arrays.toml", "--set", "model={name=\"sequential\", layers=[{type=\"Flatten\"}]}"},
            {"no parameters"});
}

TEST_CASE("an embedding with a sparse gradient, or an index beyond its rows, is refused with the line of its Python") {
  const ExportedWorkspace w;
  check_refused(w, embedding(/*rows=*/3, "{\"as_bool\": true}"), joined(kLinear, {"sparse"}));
  w.write("x.npy", npy_of("<i8", "(100, 4)", std::vector<std::int64_t>(400, 5)));
  check_misfit(w, embedding(/*rows=*/3, "{\"as_bool\": false}"), joined(kLinear, {"3 rows", "gets 5"}));
}

TEST_CASE("a graph for evaluation with other weights than the model's is refused at its option") {
  const ExportedWorkspace w;
  const auto check_other = [&](const std::vector<Edit>& edits, const Words& said) {
    w.write("other.pt2", exported_model(edits));
    for (const std::string verb : {"validate", "plan", "run"}) {
      w.refused({verb, "arrays.toml", "--set", kExported, "--set", "model.eval=other.pt2"},
                joined({"--set 2: ", "other.pt2"}, said));
    }
  };
  check_other({{"\"fc.bias\"", "\"fc.other\""}, {"\"fc.bias\"", "\"fc.other\""}}, {"\"fc.other\""});
  check_other({{"\"sizes\": [{\"as_int\": 3}]", "\"sizes\": [{\"as_int\": 2}]"}}, {"\"fc.bias\"", "[2]", "[3]"});
}

}  // namespace ddp::system_test
