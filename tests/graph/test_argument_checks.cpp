// Calls that would crash LibTorch's kernels are refused before they begin.
#include <ATen/Functions.h>

#include "graph/program.h"
#include "one_call.h"

namespace ddp::graph {
namespace {

using Sizes = std::vector<std::int64_t>;

c10::IValue list(const std::vector<at::Tensor>& tensors) {
  return c10::List<at::Tensor>(at::ArrayRef<at::Tensor>(tensors));
}

at::Tensor offsets(const Sizes& numbers) { return at::tensor(numbers); }

// The parameters of layers with biases: [gates * hidden, in], [gates * hidden, hidden], two biases.
std::vector<at::Tensor> parameters(std::int64_t gates, std::int64_t layers, std::int64_t directions) {
  constexpr std::int64_t kIn = 3;
  constexpr std::int64_t kHidden = 5;
  std::vector<at::Tensor> all;
  for (std::int64_t i = 0; i < layers * directions; ++i) {
    all.push_back(at::rand({gates * kHidden, i < directions ? kIn : directions * kHidden}));
    all.push_back(at::rand({gates * kHidden, kHidden}));
    all.push_back(at::rand({gates * kHidden}));
    all.push_back(at::rand({gates * kHidden}));
  }
  return all;
}

OneCall recurrent(const std::string& name, const std::string& overload, std::int64_t gates, std::int64_t layers,
                  bool bidirectional) {
  const std::int64_t directions = bidirectional ? 2 : 1;
  const at::Tensor state = at::rand({layers * directions, 2, 5});
  const OneCall call = OneCall(name, overload)
                           .with("hx", gates == 4 ? list({state, at::rand_like(state)}) : c10::IValue(state))
                           .with("params", list(parameters(gates, layers, directions)))
                           .with("has_biases", true)
                           .with("num_layers", layers)
                           .with("dropout", 0.0)
                           .with("train", true)
                           .with("bidirectional", bidirectional);
  if (overload == "data") return call.with("data", at::rand({7, 3})).with("batch_sizes", offsets({2, 2, 2, 1}));
  return call.with("input", at::rand({4, 2, 3})).with("batch_first", false);
}

OneCall lstm() { return recurrent("lstm", "input", 4, 1, false); }

OneCall embedding_bag() {
  return OneCall("embedding_bag", "")
      .with("weight", at::rand({7, 4}))
      .with("indices", offsets({0, 6, 1, 2, 3, 3}))
      .with("offsets", offsets({0, 2, 2, 5}));
}

OneCall weight_norm(const at::Tensor& v, const at::Tensor& g) {
  return OneCall("_weight_norm_interface").with("v", v).with("g", g).with("dim", 0);
}

OneCall attention() {
  return OneCall("scaled_dot_product_attention")
      .with("query", at::rand({2, 4, 5, 8}))
      .with("key", at::rand({2, 4, 6, 8}))
      .with("value", at::rand({2, 4, 6, 8}));
}

}  // namespace

TEST_CASE("batch norm trains its running statistics only on more than one value per channel") {
  const auto norm = [](const Sizes& sizes, bool training) {
    return OneCall("batch_norm")
        .with("input", at::rand(sizes))
        .with("running_mean", at::zeros({3}))
        .with("running_var", at::ones({3}))
        .with("training", training)
        .with("momentum", 0.1)
        .with("eps", 1e-5)
        .with("cudnn_enabled", false);
  };
  CHECK_THROWS_AS(norm({1, 3}, true).run(), c10::Error);
  CHECK_THROWS_AS(norm({1, 3, 1, 1}, true).run(), c10::Error);
  CHECK_NOTHROW(norm({2, 3}, true).run());
  CHECK_NOTHROW(norm({1, 3, 2, 1}, true).run());
  CHECK_NOTHROW(norm({1, 3}, false).run());
}

TEST_CASE("group norm trains its weight only on an input in channels_last that needs a gradient too") {
  const at::Tensor image = at::rand({2, 4, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto norm = [](const at::Tensor& input, bool trains) {
    return OneCall("group_norm")
        .with("input", input)
        .with("num_groups", std::int64_t{2})
        .with("weight", at::ones({4}).requires_grad_(trains))
        .with("bias", at::zeros({4}));
  };
  check_refused(norm(image, true), "`input`");
  CHECK_NOTHROW(norm(image, false).run());
  norm(image.detach().requires_grad_(), true).run().sum().backward();
  norm(image.contiguous(), true).run().sum().backward();
}

TEST_CASE("recurrent layers run if parameters, first states and inputs fit, with the bits of the operator alone") {
  for (const std::string overload : {"input", "data"}) {
    for (const std::int64_t layers : {1, 2}) {
      for (const bool bidirectional : {false, true}) {
        check_admitted(recurrent("lstm", overload, 4, layers, bidirectional));
        check_admitted(recurrent("gru", overload, 3, layers, bidirectional));
        check_admitted(recurrent("rnn_tanh", overload, 1, layers, bidirectional));
        check_admitted(recurrent("rnn_relu", overload, 1, layers, bidirectional));
      }
    }
  }
  check_admitted(lstm().with("batch_first", true).with("input", at::rand({2, 4, 3})));
  // With a projection from 5 cells to 2 outputs.
  check_admitted(lstm()
                     .with("hx", list({at::rand({1, 2, 2}), at::rand({1, 2, 5})}))
                     .with("params", list({at::rand({20, 3}), at::rand({20, 2}), at::rand({20}), at::rand({20}),
                                           at::rand({2, 5})})));
}

TEST_CASE("recurrent layers are refused if a parameter, a first state or a length does not fit") {
  std::vector<at::Tensor> some = parameters(4, 1, 1);
  some[1] = at::rand({20, 4});
  const auto state = [](const Sizes& sizes) { return list({at::rand(sizes), at::rand(sizes)}); };
  for (const auto& [argument, value, what] : std::vector<std::tuple<const char*, c10::IValue, const char*>>{
           {"params", list({}), "aten.lstm: `params` must hold 4 tensors, not 0"},
           {"params", list(some), "`params` must be of shape [20, 5] at 1, not [20, 4]"},
           {"num_layers", 2, "`hx` must be of shape [2, 2]"},
           {"num_layers", 0, "`num_layers`"},
           {"num_layers", INT64_MAX, "`num_layers`"},
           {"bidirectional", true, "`hx` must be of shape [2, 2]"},
           {"has_biases", false, "`params` must hold 2 tensors, not 4"},
           {"input", at::rand({4, 2, 7}), "`params` must be of shape [20, 7] at 0, not [20, 3]"},
           {"input", at::rand({0, 2, 3}), "`input`"},
           {"input", at::rand({2, 3}), "`input` must have 3 dimensions"},
           {"hx", list({at::rand({40, 2, 5}), at::rand({1, 2, 5})}), "not [40, 2, 5]"},
           {"hx", state({1, 3, 5}), "not [1, 3, 5]"},
           {"hx", list({at::rand({1, 2, 5})}), "`hx`"},
           {"hx", state({1, 2, 0}), "one feature"}}) {
    check_refused(lstm().with(argument, value), what);
  }
  check_refused(recurrent("gru", "input", 4, 1, false), "aten.gru: `hx`");
  for (const Sizes& lengths : std::vector<Sizes>{{2, 2, 2, 2}, {2, 2, 2}, {1, 2, 2, 2}, {2, -1, 6}}) {
    check_refused(recurrent("lstm", "data", 4, 1, false).with("batch_sizes", offsets(lengths)), "`batch_sizes`");
  }
  check_refused(recurrent("lstm", "data", 4, 1, false).with("batch_sizes", at::rand({4})), "whole numbers");
}

TEST_CASE("bags of embeddings need offsets that rise from 0 to the number of indices, and a known mode") {
  for (const std::int64_t mode : {0, 1, 2}) {
    check_admitted(embedding_bag().with("mode", mode));
    check_admitted(
        embedding_bag().with("mode", mode).with("offsets", offsets({0, 2, 6})).with("include_last_offset", true));
  }
  check_admitted(embedding_bag().with("per_sample_weights", at::rand({6})));
  check_refused(embedding_bag().with("mode", 16), "aten.embedding_bag: `mode`");
  for (const Sizes& begins : std::vector<Sizes>{{0, 2, -5}, {0, 2, 700}, {1, 2}, {}}) {
    check_refused(embedding_bag().with("offsets", offsets(begins)), "`offsets`");
  }
  check_refused(embedding_bag().with("offsets", offsets({0, 2, 4})).with("include_last_offset", true), "`offsets`");
  check_refused(embedding_bag().with("indices", offsets({1, 2, 3}).unsqueeze(1)), "`indices` must have 1 dimension");
  check_refused(embedding_bag().with("per_sample_weights", at::rand({5})), "`per_sample_weights`");
}

TEST_CASE("weight norm needs a length for each slice of its directions") {
  check_admitted(weight_norm(at::rand({5, 3}), at::rand({5, 1})));
  check_admitted(weight_norm(at::rand({5, 3}), at::rand({1, 3})).with("dim", 1));
  check_refused(weight_norm(at::rand({17, 16}), at::rand({5, 1})), "aten._weight_norm_interface: `g`");
  check_refused(weight_norm(at::rand({0, 3}), at::rand({0, 1})), "`v`");
  check_refused(weight_norm(at::rand({5, 3}), at::rand({5, 1})).with("dim", 3), "`dim`");
  check_refused(weight_norm(at::rand({5, 3}), at::rand({1, 1}).expand({5, 1})), "contiguous");
}

TEST_CASE("attention needs a value for each key, and a mask of its size") {
  check_admitted(attention());
  check_admitted(attention().with("attn_mask", at::rand({5, 6})));
  check_admitted(attention().with("attn_mask", at::rand({2, 1, 1, 6})));
  check_admitted(
      attention().with("key", at::rand({2, 2, 6, 8})).with("value", at::rand({2, 2, 6, 8})).with("enable_gqa", true));
  check_refused(attention().with("key", at::rand({2, 4, 3, 8})), "`value`");
  check_refused(attention().with("key", at::rand({2, 4, 6, 7})), "`key`");
  check_refused(attention().with("attn_mask", at::rand({5, 7})), "`attn_mask`");
  check_refused(attention().with("key", at::rand({2, 0, 6, 8})).with("enable_gqa", true), "head");
}

TEST_CASE("interpolation needs output sizes that match its scales") {
  const OneCall bilinear =
      OneCall("_upsample_bilinear2d_aa").with("self", at::rand({2, 4, 8, 8})).with("align_corners", false);
  check_admitted(bilinear.with("output_size", Sizes{12, 4}));
  check_admitted(bilinear.with("output_size", Sizes{12, 4}).with("scales_h", 1.5).with("scales_w", 0.5));
  check_admitted(bilinear.with("output_size", Sizes{11, 5}).with("scales_h", 1.4).with("scales_w", 0.7));
  check_refused(bilinear.with("output_size", Sizes{12, 12}).with("scales_w", 0.1), "`scales_w`");
  const OneCall bicubic =
      OneCall("upsample_bicubic2d").with("self", at::rand({2, 4, 8, 8})).with("align_corners", false);
  check_admitted(bicubic.with("output_size", Sizes{12, 4}).with("scales_h", 1.5));
  check_refused(bicubic.with("output_size", Sizes{12, 4}).with("scales_h", 1e-320), "`scales_h`");
  check_refused(bicubic.with("output_size", Sizes{12, 0}), "`output_size`");
}

TEST_CASE("windows and margins are refused if kernels would compute beyond 64 bits or find too few dimensions") {
  const OneCall pool = OneCall("max_pool1d").with("self", at::rand({4, 5})).with("kernel_size", Sizes{2});
  check_admitted(pool);
  check_refused(pool.with("dilation", Sizes{INT64_MAX - 1}), "aten.max_pool1d: `dilation`");
  const OneCall reflection = OneCall("reflection_pad3d").with("padding", Sizes{1, 1, 1, 1, 1, 1});
  check_admitted(reflection.with("self", at::rand({2, 3, 4, 5, 6})));
  check_refused(reflection.with("self", at::scalar_tensor(1)).with("padding", Sizes{}), "dimensions");
  check_refused(reflection.with("self", at::rand({3, 4, 5, 6})).with("padding", Sizes{1, 1}), "margins");
}

TEST_CASE("the stride of a convolution is at most the size of its input or its weight") {
  const OneCall conv = OneCall("conv2d").with("input", at::rand({2, 4, 8, 8})).with("weight", at::rand({6, 4, 4, 4}));
  check_admitted(conv);
  check_admitted(conv.with("stride", Sizes{4, 8}).with("padding", Sizes{1, 1}));
  check_admitted(conv.with("weight", at::rand({6, 4, 8, 8})).with("stride", Sizes{8}));
  check_refused(conv.with("stride", Sizes{1 << 20, 1 << 20}), "aten.conv2d: `stride`");
  check_refused(conv.with("padding", Sizes{INT64_MAX, 0}), "`padding`");
  const OneCall named =
      OneCall("conv2d", "padding").with("input", at::rand({2, 4, 8, 8})).with("weight", at::rand({6, 4, 3, 3}));
  check_admitted(named.with("padding", "same"));
  check_refused(named.with("padding", "valid").with("stride", Sizes{1 << 20}), "`stride`");
}

TEST_CASE("distances between rows need a row") {
  const OneCall distances = OneCall("pdist");
  check_admitted(distances.with("self", at::rand({4, 3})));
  check_refused(distances.with("self", at::rand({0, 3})), "aten.pdist: `self`");
}

TEST_CASE("a range of whole numbers needs a step that does not truncate to 0") {
  const OneCall row =
      OneCall("arange", "start_step").with("start", 0).with("end", 4).with("device", c10::Device(at::kCPU));
  check_admitted(row.with("step", 2).with("dtype", static_cast<std::int64_t>(at::kLong)));
  check_admitted(row.with("step", 0.5));
  check_refused(row.with("step", 0.1).with("dtype", static_cast<std::int64_t>(at::kLong)), "aten.arange: `step`");
}

TEST_CASE("a graph may change the shape of its own tensors in place, but of no weight, buffer or input") {
  const auto transposed = [](const at::Tensor& weight, const at::Tensor& input, const at::Tensor& argument) {
    CallList list;
    list.file = "net.pt2";
    list.operators.push_back(
        std::make_unique<const c10::OperatorHandle>(c10::Dispatcher::singleton().findSchemaOrThrow("aten::t_", "")));
    CallList::Call call{.operation = list.operators.back().get(), .reshapes = true};
    call.arguments.emplace_back(argument);
    call.results.push_back({.slots = {2}});
    list.calls.push_back(std::move(call));
    list.values.resize(3);
    list.values[0] = weight;
    list.inputs = {1};
    list.outputs = {{"y", 2}};
    return Executor(std::move(list)).run({input}).front().second;
  };
  const at::Tensor weight = at::rand({3, 4});
  const at::Tensor input = at::rand({2, 3});
  CHECK(transposed(weight, input, at::rand({5, 6})).sizes() == at::IntArrayRef({6, 5}));
  for (const at::Tensor& kept : {weight, input}) {
    const std::string error = error_of([&] { transposed(weight, input, kept); });
    CHECK(contains(error, "changes the shape"));
  }
  CHECK(weight.sizes() == at::IntArrayRef({3, 4}));
}

TEST_CASE("inputs fit the fixed sizes of an export, the ranges of the open ones, and one value of each symbol") {
  const auto refused = [](const Sizes& given, const Program::Extent& height) {
    const Program::Extent open{.symbol = "s"};
    ShapeCheck check(Program{.inputs = {{.sizes = {open, {.size = 3}, height, {.symbol = "w"}}}}});
    return !error_of([&] { check.fitted({at::zeros(given)}); }).empty();
  };
  for (const auto& height : {Program::Extent{.size = 8}, Program::Extent{.symbol = "h"}}) {
    CHECK_FALSE(refused({2, 3, 8, 9}, height));
    CHECK(refused({2, 8, 9, 3}, height));
    CHECK(refused({2, 3, 8}, height));
  }
  CHECK(refused({2, 3, 9, 9}, {.symbol = "h", .most = 8}));
  CHECK(refused({2, 3, 8, 9}, {.symbol = "w"}));
}

}  // namespace ddp::graph
