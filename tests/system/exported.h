#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "catch.h"

namespace ddp::system_test {

// The graph that torch.export writes for dropout(0.25) and Linear(4, 3), without members and keys that carry no further
// information.
inline const std::string kGraph = R"text({
"graph_module": {
  "graph": {
    "nodes": [
      {"target": "torch.ops.aten.dropout.default",
       "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "x"}}}, {"name": "p", "arg": {"as_float": 0.25}},
                  {"name": "train", "arg": {"as_bool": true}}],
       "outputs": [{"as_tensor": {"name": "dropout"}}],
       "metadata": {"stack_trace": "File \"/home/me/net.py\", line 5, in forward\n    x = self.dropout(x)"}},
      {"target": "torch.ops.aten.linear.default",
       "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "dropout"}}},
                  {"name": "weight", "arg": {"as_tensor": {"name": "p_fc_weight"}}},
                  {"name": "bias", "arg": {"as_tensor": {"name": "p_fc_bias"}}}],
       "outputs": [{"as_tensor": {"name": "linear"}}],
       "metadata": {"stack_trace": "File \"/home/me/net.py\", line 6, in forward\n    x = self.fc(x)\n  File \"/usr/lib/torch/nn/modules/linear.py\", line 134, in forward\n    return F.linear(input)"}}],
    "tensor_values": {
      "x": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s77', positive=True)"}}, {"as_int": 4}]}}},
  "signature": {
    "input_specs": [{"parameter": {"arg": {"name": "p_fc_weight"}, "parameter_name": "fc.weight"}},
                    {"parameter": {"arg": {"name": "p_fc_bias"}, "parameter_name": "fc.bias"}},
                    {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
    "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}]},
  "module_call_graph": [{"fqn": "", "signature": {
    "out_spec": "[1, {\"type\": null, \"context\": null, \"children_spec\": []}]", "forward_arg_names": ["x"]}}]},
"range_constraints": {"s77": {"min_val": 1, "max_val": 64}},
"schema_version": {"major": 8, "minor": 17}})text";

inline const std::string kWeights = R"text({"config": {
"fc.weight": {"path_name": "weight_0", "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 3}, {"as_int": 4}],
  "requires_grad": true, "strides": [{"as_int": 4}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}},
"fc.bias": {"path_name": "weight_1", "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 3}],
  "requires_grad": true, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}}}})text";

// The size of an input dimension that may be any batch size.
inline const std::string kAnyBatch = "{\"as_expr\": {\"expr_str\": \"Symbol('s77', positive=True)\"}}";

// A text of the archive's two JSON members, and its replacement.
using Edit = std::pair<std::string, std::string>;

// The bytes of such an archive.
inline std::string exported_model(const std::vector<Edit>& edits = {}, bool packed = false) {
  std::string graph = kGraph;
  std::string weights = kWeights;
  for (const auto& [from, to] : edits) {
    std::string& text = graph.find(from) != std::string::npos ? graph : weights;
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  }
  const std::vector<float> weight{.1F, -.2F, .3F, .4F, -.5F, .6F, .1F, .2F, -.3F, .4F, -.5F, .6F};
  return ZipBytes()
      .add("net/models/model.json", graph, packed)
      .add("net/data/weights/model_weights_config.json", weights, packed)
      .add("net/data/weights/weight_0", bytes_of_numbers(weight), packed)
      .add("net/data/weights/weight_1", bytes_of_numbers(std::vector<float>{0, .1F, .2F}), packed)
      .bytes();
}

// The edits that make the model compute its loss, mse of numbers: it returns {"loss": …, "OUTPUT": …, "SCALAR": …}.
inline std::vector<Edit> computing_loss(const std::string& output = "logits", const std::string& scalar = "level") {
  const auto spec = [](const std::string& name) {
    return R"({"user_output": {"arg": {"as_tensor": {"name": ")" + name + "\"}}}}";
  };
  const std::string leaf = R"({\"type\": null, \"context\": null, \"children_spec\": []})";
  const std::string keys = R"([\\\"loss\\\", \\\")" + output + R"(\\\", \\\")" + scalar + R"(\\\"])";
  return {{R"t("}}],
    "tensor_values": {)t",
           R"t("}},
      {"target": "torch.ops.aten.mse_loss.default",
       "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}}},
                  {"name": "target", "arg": {"as_tensor": {"name": "y"}}}],
       "outputs": [{"as_tensor": {"name": "mse"}}], "metadata": {}},
      {"target": "torch.ops.aten.mean.default",
       "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}}}],
       "outputs": [{"as_tensor": {"name": "mean"}}], "metadata": {}}],
    "tensor_values": {
      "y": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s77', positive=True)"}}, {"as_int": 3}]},
      "linear": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s77', positive=True)"}}, {"as_int": 3}]},
      "mse": {"dtype": 7, "sizes": []},
      "mean": {"dtype": 7, "sizes": []},)t"},
          {R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
           R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
                    {"user_input": {"arg": {"as_tensor": {"name": "y"}}}})"},
          {spec("linear"), spec("mse") + ", " + spec("linear") + ", " + spec("mean")},
          {"[1, " + leaf + "]", R"([1, {\"type\": \"builtins.dict\", \"context\": \")" + keys +
                                    R"(\", \"children_spec\": [)" + leaf + ", " + leaf + ", " + leaf + "]}]"},
          {R"(["x"])", R"(["x", "y"])"}};
}

// The edits that put a batch norm of nn.SyncBatchNorm in place of the dropout.
inline std::vector<Edit> with_synced_norm() {
  return {{"torch.ops.aten.dropout.default", "torch.ops.aten.batch_norm.default"},
          {R"({"name": "p", "arg": {"as_float": 0.25}},
                  {"name": "train", "arg": {"as_bool": true}}])",
           R"({"name": "weight", "arg": {"as_none": true}}, {"name": "bias", "arg": {"as_none": true}},
                  {"name": "running_mean", "arg": {"as_none": true}}, {"name": "running_var", "arg": {"as_none": true}},
                  {"name": "training", "arg": {"as_bool": true}},
                  {"name": "momentum", "arg": {"as_float": 0.1}}, {"name": "eps", "arg": {"as_float": 0.1}},
                  {"name": "cudnn_enabled", "arg": {"as_bool": false}}])"},
          {"\"metadata\": {",
           "\"metadata\": {\"nn_module_stack\": "
           "\"L__self__,,net.Net;L__self__norm,norm,"
           "torch.nn.modules.batchnorm.SyncBatchNorm\", "}};
}

// The bytes of an exported loss of an output of 3 numbers and class indices: cross-entropy, or `target` in its place.
inline std::string exported_loss(const std::string& target = "torch.ops.aten.cross_entropy_loss.default") {
  const std::string any = kAnyBatch;
  const std::string graph = R"({"graph_module": {"graph": {"nodes": [{"target": ")" + target + R"(",
      "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "output"}}},
                 {"name": "target", "arg": {"as_tensor": {"name": "y"}}}],
      "outputs": [{"as_tensor": {"name": "loss"}}], "metadata": {}}],
    "tensor_values": {"output": {"dtype": 7, "sizes": [)" +
                            any + R"(, {"as_int": 3}]},
                      "y": {"dtype": 5, "sizes": [)" +
                            any + R"(]}, "loss": {"dtype": 7, "sizes": []}}},
  "signature": {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "output"}}}},
                                {"user_input": {"arg": {"as_tensor": {"name": "y"}}}}],
                "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "loss"}}}}]}},
  "range_constraints": {"s77": {"min_val": 1, "max_val": 64}}, "schema_version": {"major": 8, "minor": 17}})";
  return ZipBytes()
      .add("net/models/model.json", graph, /*pack=*/false)
      .add("net/data/weights/model_weights_config.json", R"({"config": {}})", /*pack=*/false)
      .bytes();
}

// arrays.toml with that model, net.pt2, in place of its own.
struct ExportedWorkspace : ArrayWorkspace {
  ExportedWorkspace() { write("net.pt2", exported_model()); }
};

inline const std::string kExported = R"(model={name="exported",path="net.pt2"})";

// Requires that these commands exit with 2, name net.pt2 and the parts of `said`, and write nothing.
inline void check_archive_refused(const ExportedWorkspace& w, Words said,
                                  const Words& verbs = {"validate", "plan", "run"}) {
  said.emplace_back("net.pt2");
  for (const std::string& verb : verbs) {
    w.refused({verb, "arrays.toml", "--set", kExported}, said);
    CHECK_FALSE(std::filesystem::exists(w.results()));
  }
}

inline void check_refused(const ExportedWorkspace& w, const std::vector<Edit>& edits, const Words& said) {
  w.write("net.pt2", exported_model(edits));
  check_archive_refused(w, said);
}

// The model does not fit the data, which `validate` does not read.
inline void check_misfit(const ExportedWorkspace& w, const std::vector<Edit>& edits, const Words& said) {
  w.write("net.pt2", exported_model(edits));
  check_archive_refused(w, said, {"plan", "run"});
}

}  // namespace ddp::system_test
