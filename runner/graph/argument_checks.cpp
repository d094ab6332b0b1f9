#include "graph/argument_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

namespace ddp::graph {
namespace {

// The kernel truncates the step to an integer before it divides by it.
void check_range(const CheckedArguments& given) {
  enum Argument : std::size_t { step, dtype };
  if (!given.has(step) || !given.has(dtype)) return;
  const auto type = static_cast<c10::ScalarType>(given.number(dtype));
  if (!c10::isIntegralType(type, /*includeBool=*/true)) return;
  const c10::Scalar wanted = given.scalar(step);
  given.require(!wanted.isComplex() && std::fabs(wanted.toDouble()) >= 1, step, "must be at least 1 for whole numbers");
}

// For channels_last, the kernel of the gradients of weight and bias writes the one of the input, which nobody wants
// here (aten/src/ATen/native/cpu/group_norm_kernel.cpp).
void check_group_norm(const CheckedArguments& given) {
  enum Argument : std::size_t { input, weight, bias };
  const at::Tensor& x = given.tensor(input);
  const auto trains = [&](std::size_t i) { return given.has(i) && given.tensor(i).requires_grad(); };
  const bool is_safe = x.requires_grad() || x.suggest_memory_format() == at::MemoryFormat::Contiguous;
  given.require(is_safe || !at::GradMode::is_enabled() || (!trains(weight) && !trains(bias)), input,
                "in channels_last must need a gradient; call clone(memory_format=torch.contiguous_format) first");
}

// Checks the first index of each bag. Kernels sum the indices between two offsets.
template <class Offset>
bool are_offsets(const at::Tensor& offsets, std::int64_t end, bool has_end) {
  const at::Tensor tensor = offsets.contiguous();
  const auto* begin = tensor.const_data_ptr<Offset>();
  const std::int64_t count = tensor.numel();
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (begin[i] < last || begin[i] > end) return false;
    last = begin[i];
  }
  return begin[0] == 0 && (!has_end || last == end);
}

void check_embedding_bag(const CheckedArguments& given) {
  enum Argument : std::size_t { mode, weight, indices, offsets, per_sample_weights, include_last_offset };
  const std::int64_t way = given.number(mode);
  given.require(way >= 0 && way <= 2, mode, "must be 0, 1 or 2: sum, mean or max");
  given.require(given.tensor(weight).dim() == 2, weight, "must have 2 dimensions");
  const at::Tensor& rows = given.tensor(indices);
  given.require(rows.dim() == 1, indices, "must have 1 dimension");
  const at::Tensor& bags = given.tensor(offsets);
  const bool has_end = given.flag(include_last_offset);
  given.require(bags.dim() == 1 && bags.numel() >= (has_end ? 2 : 1), offsets,
                "must have 1 dimension and at least one bag");
  if (given.has(per_sample_weights)) {
    given.require(given.tensor(per_sample_weights).sizes() == rows.sizes(), per_sample_weights,
                  "must have the shape of `indices`");
  }
  // GPU kernels check by themselves, and a check here would wait for the GPU.
  if (!bags.device().is_cpu()) return;
  const bool fits = bags.scalar_type() == at::kLong  ? are_offsets<std::int64_t>(bags, rows.numel(), has_end)
                    : bags.scalar_type() == at::kInt ? are_offsets<std::int32_t>(bags, rows.numel(), has_end)
                                                     : false;
  given.require(fits, offsets, "must begin with 0, must not decrease, and must not lead beyond `indices`");
}

// The kernel reads one length per slice of the directions.
void check_weight_norm(const CheckedArguments& given) {
  enum Argument : std::size_t { v, g, dim };
  const at::Tensor& directions = given.tensor(v);
  const at::Tensor& lengths = given.tensor(g);
  const std::int64_t last = directions.dim() - 1;
  const std::int64_t kept = given.number(dim);
  given.require(last >= 0 && directions.numel() > 0, v, "must have elements");
  // -1 means one length for all.
  given.require(kept >= -1 && kept <= last, dim, "must be a dimension of `v`");
  const std::int64_t wanted = kept < 0 ? 1 : directions.size(kept);
  given.require(lengths.numel() == wanted, g, "must hold one length for each slice of `v`");
  given.require(lengths.scalar_type() == directions.scalar_type(), g, "must be of the type of `v`");
}

void check_contiguous_weight_norm(const CheckedArguments& given) {
  check_weight_norm(given);
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
    given.require(given.tensor(place).is_contiguous(), place, "must be contiguous");
  }
}

// The CPU kernel of attention assumes as many values as keys.
void check_attention(const CheckedArguments& given) {
  enum Argument : std::size_t { query, key, value, attn_mask, enable_gqa };
  const at::Tensor& queries = given.tensor(query);
  const at::Tensor& keys = given.tensor(key);
  const at::Tensor& values = given.tensor(value);
  for (const std::size_t place : {query, key, value}) {
    given.require(given.tensor(place).dim() >= 2, place, "must have 2 dimensions or more");
  }
  given.require(keys.size(-1) == queries.size(-1), key, "must have as many features as `query`");
  given.require(values.size(-2) == keys.size(-2), value, "must be as long as `key`");
  if (given.has(attn_mask)) {
    const at::Tensor& mask = given.tensor(attn_mask);
    given.require(mask.dim() >= 2 && (mask.size(-2) == 1 || mask.size(-2) == queries.size(-2)) &&
                      (mask.size(-1) == 1 || mask.size(-1) == keys.size(-2)),
                  attn_mask, "must have a row for each query and a column for each key");
  }
  if (!given.has(enable_gqa) || !given.flag(enable_gqa)) return;
  for (const std::size_t place : {key, value}) {
    const at::Tensor& heads = given.tensor(place);
    given.require(heads.dim() >= 3 && heads.size(-3) > 0, place, "must have at least one head");
  }
}

// The variance of one value is NaN, and would stay in the running statistics. The error is the one of torch::nn.
void check_batch_norm(const CheckedArguments& given) {
  enum Argument : std::size_t { input, running_mean, training };
  if (!given.flag(training) || !given.has(running_mean)) return;
  const at::Tensor& values = given.tensor(input);
  TORCH_CHECK(values.dim() < 2 || values.numel() != values.size(1),
              "Expected more than 1 value per channel when training, got input size ", values.sizes());
}

// The gradient's kernel reads the first row unconditionally.
void check_distances(const CheckedArguments& given) {
  const at::Tensor& rows = given.tensor(0);
  given.require(rows.dim() == 2 && rows.size(0) > 0, 0, "must have 2 dimensions and at least one row");
}

// Limits that keep the product of two such numbers, which kernels compute, from overflow.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;
constexpr double kMostScale = 1e6;

// Sizes, strides and padding of windows over images: kernels multiply these numbers.
void check_windows(const CheckedArguments& given) {
  constexpr std::size_t kArguments = 7;
  for (std::size_t i = 0; i < kArguments; ++i) {
    if (!given.has(i)) continue;
    for (const std::int64_t number : given.numbers(i)) {
      given.require(number > -kMostExtent && number < kMostExtent, i, "must hold numbers of less than 2^31");
    }
  }
}

// oneDNN computes addresses from strides, which may lead far beyond the image.
void check_convolution(const CheckedArguments& given) {
  enum Argument : std::size_t { input, self, weight, stride, padding, dilation, output_padding };
  const std::size_t image = given.has(input) ? input : self;
  const at::Tensor& inputs = given.tensor(image);
  const at::Tensor& kernel = given.tensor(weight);
  given.require(inputs.dim() >= 2, image, "must have 2 dimensions or more");
  given.require(kernel.dim() >= 3, weight, "must have 3 dimensions or more");
  // A list of one number applies to all dimensions.
  const auto wide = [](const at::Tensor& tensor) {
    return *std::max_element(tensor.sizes().begin() + 1, tensor.sizes().end());
  };
  const std::int64_t most = std::max({wide(inputs), wide(kernel), std::int64_t{1}});
  for (const std::int64_t step : given.numbers(stride)) {
    given.require(step <= most, stride, "must hold strides of at most the size of the input or the weight");
  }
  for (const std::size_t place : {padding, dilation, output_padding}) {
    if (!given.has(place) || given.is_text(place)) continue;  // "same" and "valid" are also allowed
    for (const std::int64_t number : given.numbers(place)) {
      given.require(number > -kMostExtent && number < kMostExtent, place, "must hold numbers of less than 2^31");
    }
  }
}

// Padding on two sides of each padded dimension; these follow the channels and an optional batch dimension.
template <std::int64_t dimensions>
void check_margins(const CheckedArguments& given) {
  enum Argument : std::size_t { self, padding };
  const std::int64_t given_dimensions = given.tensor(self).dim();
  given.require(given_dimensions == dimensions + 1 || given_dimensions == dimensions + 2, self,
                "has a number of dimensions that the operator does not take");
  const std::vector<std::int64_t> margins = given.numbers(padding);
  given.require(margins.size() == static_cast<std::size_t>(2 * dimensions), padding,
                "must hold 2 margins per dimension");
  for (const std::int64_t margin : margins) {
    given.require(margin > -kMostExtent && margin < kMostExtent, padding, "must hold numbers of less than 2^31");
  }
}

// The scales and sizes of interpolation. With antialiasing, kernels compute the inputs of the last output from the
// scale, not from the sizes.
template <bool is_antialiased>
void check_interpolation(const CheckedArguments& given) {
  enum Argument : std::size_t { self, input, output_size, scales, scales_d, scales_h, scales_w, scale_factors };
  for (const std::size_t place : {scales, scales_d, scales_h, scales_w, scale_factors}) {
    if (!given.has(place)) continue;
    for (const double scale : given.reals(place)) {
      given.require(scale >= 1 / kMostScale && scale <= kMostScale, place, "must be a scale of 1e-6 to 1e6");
    }
  }
  if (!given.has(output_size)) return;
  const std::vector<std::int64_t> sizes = given.numbers(output_size);
  for (const std::int64_t size : sizes) {
    given.require(size > 0 && size < kMostExtent, output_size, "must hold sizes of 1 to 2^31");
  }
  if (!is_antialiased) return;
  const std::size_t image = given.has(self) ? self : input;
  const at::Tensor& tensor = given.tensor(image);
  given.require(tensor.dim() == 4, image, "must have 4 dimensions");
  given.require(sizes.size() == 2, output_size, "must hold 2 sizes");
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t scale = i == 0 ? scales_h : scales_w;
    if (!given.has(scale)) continue;
    const double expected = static_cast<double>(tensor.sizes()[2 + i]) * given.reals(scale).front();
    given.require(std::fabs(expected - static_cast<double>(sizes[i])) <= 1, scale, "must be output size / input size");
  }
}

using Shape = std::vector<std::int64_t>;

// The limit of layers in one call. Each layer has its own parameters, so real models have far fewer.
constexpr std::int64_t kMostLayers = 1 << 16;

std::string text_of(const Shape& shape) { return c10::str(at::IntArrayRef(shape)); }

// The arguments of aten::lstm, gru, rnn_tanh and rnn_relu, in the order of the rules below.
class RecurrentLayers {
 public:
  enum Argument : std::size_t {
    input,
    data,
    batch_sizes,
    hx,
    params,
    has_biases,
    num_layers,
    bidirectional,
    batch_first
  };

  RecurrentLayers(const CheckedArguments& arguments, std::int64_t gates) : given_(arguments), gates_(gates) {}

  void require() {
    is_packed_ = given_.has(data);
    layers_ = given_.number(num_layers);
    given_.require(layers_ >= 1 && layers_ <= kMostLayers, num_layers, "must be 1 or more");
    directions_ = given_.flag(bidirectional) ? 2 : 1;
    is_packed_ ? require_packed() : require_padded();
    require_states();
    require_parameters();
  }

 private:
  void require_padded() {
    const at::Tensor& tensor = given_.tensor(input);
    given_.require(tensor.dim() == 3, input, "must have 3 dimensions");
    const bool begins_with_batch = given_.flag(batch_first);
    batch_ = tensor.size(begins_with_batch ? 0 : 1);
    given_.require(tensor.size(begins_with_batch ? 1 : 0) > 0, input, "must have at least one step");
    features_ = tensor.size(2);
  }

  // Packed sequences: the rows of all steps, step by step; each step has one row for each sequence that is long enough.
  void require_packed() {
    const at::Tensor& rows = given_.tensor(data);
    given_.require(rows.dim() == 2, data, "must have 2 dimensions");
    features_ = rows.size(1);
    const at::Tensor& sizes = given_.tensor(batch_sizes);
    given_.require(sizes.dim() == 1 && sizes.scalar_type() == at::kLong && sizes.numel() > 0 &&
                       sizes.device().is_cpu() && sizes.is_contiguous(),
                   batch_sizes, "must be a list of whole numbers on the CPU");
    const auto* begin = sizes.const_data_ptr<std::int64_t>();
    std::int64_t sum = 0;
    for (std::int64_t step = 0; step < sizes.numel(); ++step) {
      given_.require(begin[step] > 0 && begin[step] <= rows.size(0), batch_sizes, "must hold positive numbers of rows");
      given_.require(step == 0 || begin[step] <= begin[step - 1], batch_sizes, "must not grow");
      sum += begin[step];
      given_.require(sum <= rows.size(0), batch_sizes, "must add up to the rows of `data`");
    }
    given_.require(sum == rows.size(0), batch_sizes, "must add up to the rows of `data`");
    batch_ = begin[0];
  }

  // The initial states, [layers * directions, batch, features]: one tensor, or two for LSTM.
  void require_states() {
    const std::vector<at::Tensor> states = given_.tensors(hx);
    given_.require(states.size() == (gates_ == 4 ? 2 : 1), hx, "must hold the initial states: 1 tensor, or 2 for LSTM");
    for (const at::Tensor& state : states) {
      if (state.dim() != 3 || state.size(0) != layers_ * directions_ || state.size(1) != batch_) {
        given_.refuse(hx, "must be of shape " + text_of({layers_ * directions_, batch_}) + " and its features, not " +
                              c10::str(state.sizes()));
      }
    }
    outputs_ = states.front().size(2);
    cells_ = states.back().size(2);
    given_.require(outputs_ > 0 && cells_ > 0, hx, "must have at least one feature");
  }

  // All parameters of a layer and direction, in this order: [weights of inputs, weights of outputs, two biases, and the
  // weights of LSTM's projection if it has one].
  void require_parameters() {
    std::vector<Shape> wanted;
    const std::vector<at::Tensor> given = given_.tensors(params);
    const bool has_bias = given_.flag(has_biases);
    const bool has_projection = outputs_ != cells_;
    const auto each = static_cast<std::int64_t>(2 + (has_bias ? 2 : 0) + (has_projection ? 1 : 0));
    if (static_cast<std::int64_t>(given.size()) != layers_ * directions_ * each) {
      given_.refuse(params, "must hold " + std::to_string(layers_ * directions_ * each) + " tensors, not " +
                                std::to_string(given.size()));
    }
    std::size_t at = 0;
    const auto require_shape = [&](const Shape& shape) {
      const at::Tensor& tensor = given[at];
      if (tensor.sizes() != at::IntArrayRef(shape)) {
        given_.refuse(params, "must be of shape " + text_of(shape) + " at " + std::to_string(at) + ", not " +
                                  c10::str(tensor.sizes()));
      }
      ++at;
    };
    const std::int64_t rows = gates_ * cells_;
    for (std::int64_t i = 0; i < layers_ * directions_; ++i) {
      require_shape({rows, i < directions_ ? features_ : outputs_ * directions_});
      require_shape({rows, outputs_});
      if (has_bias) require_shape({rows});
      if (has_bias) require_shape({rows});
      if (has_projection) require_shape({outputs_, cells_});
    }
  }

  const CheckedArguments& given_;
  const std::int64_t gates_;
  bool is_packed_ = false;
  std::int64_t layers_ = 0;
  std::int64_t directions_ = 0;
  std::int64_t batch_ = 0;
  std::int64_t features_ = 0;  // of the inputs
  std::int64_t outputs_ = 0;   // features of the outputs
  std::int64_t cells_ = 0;     // features of LSTM's cells; otherwise of the outputs
};

template <std::int64_t gates>
void check_layers(const CheckedArguments& arguments) {
  RecurrentLayers(arguments, gates).require();
}

const std::vector<std::string_view> kWindowArguments = {"kernel_size", "stride",         "padding", "dilation",
                                                        "output_size", "output_padding", "pad"};
const std::vector<std::string_view> kInterpolationArguments = {"self",     "input",    "output_size", "scales",
                                                               "scales_d", "scales_h", "scales_w",    "scale_factors"};
const std::vector<std::string_view> kLayerArguments = {
    "input", "data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "bidirectional", "batch_first"};

const ArgumentRule kRules[] = {
    // Recurrent layers: lists of parameters, initial states, sequence lengths.
    {" lstm ", kLayerArguments, check_layers<4>},
    {" gru ", kLayerArguments, check_layers<3>},
    {" rnn_tanh rnn_relu ", kLayerArguments, check_layers<1>},
    // Images, and windows over them: output sizes, strides, padding, scales.
    {" _upsample_bilinear2d_aa _upsample_bicubic2d_aa ", kInterpolationArguments, check_interpolation<true>},
    {" upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d"
     " _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d ",
     kInterpolationArguments, check_interpolation<false>},
    {" conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution _convolution ",
     {"input", "self", "weight", "stride", "padding", "dilation", "output_padding"},
     check_convolution},
    {" reflection_pad1d replication_pad1d ", {"self", "padding"}, check_margins<1>},
    {" reflection_pad2d replication_pad2d ", {"self", "padding"}, check_margins<2>},
    {" reflection_pad3d replication_pad3d ", {"self", "padding"}, check_margins<3>},
    {" max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices"
     " avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d"
     " _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d"
     " max_unpool2d max_unpool3d im2col col2im constant_pad_nd pad _pad_circular _pad_enum ",
     kWindowArguments, check_windows},
    // Other layers.
    {" embedding_bag ",
     {"mode", "weight", "indices", "offsets", "per_sample_weights", "include_last_offset"},
     check_embedding_bag},
    {" _weight_norm ", {"v", "g", "dim"}, check_weight_norm},
    {" _weight_norm_interface ", {"v", "g", "dim"}, check_contiguous_weight_norm},
    {" scaled_dot_product_attention _scaled_dot_product_attention_math ",
     {"query", "key", "value", "attn_mask", "enable_gqa"},
     check_attention},
    {" batch_norm ", {"input", "running_mean", "training"}, check_batch_norm},
    {" group_norm native_group_norm ", {"input", "weight", "bias"}, check_group_norm},
    {" pdist ", {"self"}, check_distances},
    // Ranges: tensors of evenly spaced numbers.
    {" arange ", {"step", "dtype"}, check_range},
};

const ArgumentRule* rule_of(const std::string& operation) {
  for (const ArgumentRule& rule : kRules) {
    if (rule.operations.find(" " + operation + " ") != std::string_view::npos) return &rule;
  }
  return nullptr;
}

// Returns "_copy" and "add" for the schema's "aten::_copy" and "aten::add_".
std::string operation_of(const c10::FunctionSchema& schema) {
  std::string name = schema.name();
  name.erase(0, name.find("::") == std::string::npos ? 0 : name.find("::") + 2);
  return name;
}

}  // namespace

ArgumentCheck::ArgumentCheck(const c10::FunctionSchema& schema) : operation_(operation_of(schema)) {
  rule_ = rule_of(operation_);
  // An in-place operator is checked like its namesake without "_".
  if (rule_ == nullptr && operation_.ends_with('_')) rule_ = rule_of(operation_.substr(0, operation_.size() - 1));
  if (rule_ == nullptr) return;
  for (const std::string_view name : rule_->arguments) {
    const std::optional<int> place = schema.argumentIndexWithName(name);
    places_.push_back(place.value_or(-1));
  }
}

const at::Tensor& CheckedArguments::tensor(std::size_t i) const {
  if (!value(i).isTensor() || !value(i).toTensor().defined()) refuse(i, "must be a tensor");
  return value(i).toTensor();
}

std::vector<at::Tensor> CheckedArguments::tensors(std::size_t i) const {
  if (!value(i).isTensorList()) return {tensor(i)};
  std::vector<at::Tensor> tensors = value(i).toTensorVector();
  for (const at::Tensor& one : tensors) {
    if (!one.defined()) refuse(i, "must hold tensors");
  }
  return tensors;
}

std::vector<std::int64_t> CheckedArguments::numbers(std::size_t i) const {
  if (value(i).isInt()) return {value(i).toInt()};
  if (!value(i).isIntList()) refuse(i, "must be a list of whole numbers");
  return value(i).toIntVector();
}

std::vector<double> CheckedArguments::reals(std::size_t i) const {
  if (value(i).isDouble()) return {value(i).toDouble()};
  if (!value(i).isDoubleList()) refuse(i, "must be a list of numbers");
  return value(i).toDoubleVector();
}

std::int64_t CheckedArguments::number(std::size_t i) const {
  if (!value(i).isInt()) refuse(i, "must be a whole number");
  return value(i).toInt();
}

bool CheckedArguments::flag(std::size_t i) const {
  if (!value(i).isBool()) refuse(i, "must be true or false");
  return value(i).toBool();
}

c10::Scalar CheckedArguments::scalar(std::size_t i) const {
  if (!value(i).isScalar()) refuse(i, "must be a number");
  return value(i).toScalar();
}

void CheckedArguments::refuse(std::size_t i, const std::string& rule) const {
  throw BadArgument("aten." + operation_ + ": `" + std::string(names_[i]) + "` " + rule);
}

}  // namespace ddp::graph
