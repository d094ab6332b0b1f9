// Models that were written in Python and cannot be trained as they are.
#include <filesystem>

#include "catch.h"
#include "exported.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
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
    const Outcome refused = w.run({verb, "arrays.toml", "--set", kExported, "--set", "freeze=[\"fc.bias\"]"});
    INFO(verb << ": " << refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "--set 2: freezes every parameter of the model"));
    CHECK_FALSE(fs::exists(w.results()));
  }
  const Outcome layers =
      w.run({"plan", "arrays.toml", "--set", "model={name=\"sequential\", layers=[{type=\"Flatten\"}]}"});
  INFO(layers.err);
  CHECK(layers.code == 2);
  CHECK(contains(layers.err, "the model has no parameters"));
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
      const Outcome refused = w.run({verb, "arrays.toml", "--set", kExported, "--set", "model.eval=other.pt2"});
      INFO(verb << ": " << refused.err);
      CHECK(refused.code == 2);
      CHECK(contains(refused.err, "--set 2: "));
      CHECK(contains(refused.err, "other.pt2 is of another model than "));
      CHECK(contains(refused.err, what));
    }
  };
  check_other({{"\"fc.bias\"", "\"fc.other\""}, {"\"fc.bias\"", "\"fc.other\""}},
              "its weight \"fc.other\" is Float[3], and the model to train has none of this name");
  check_other({{"\"sizes\": [{\"as_int\": 3}]", "\"sizes\": [{\"as_int\": 2}]"}},
              "its weight \"fc.bias\" is Float[2], and the model to train has Float[3]");
}

}  // namespace ddp::system_test
