#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "graph/argument_rules.h"

namespace ddp::graph {
namespace {

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

const std::vector<std::string_view> kWindowArguments = {"kernel_size", "stride",         "padding", "dilation",
                                                        "output_size", "output_padding", "pad"};

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
class Interpolation {
 public:
  enum Argument : std::size_t { self, input, output_size, scales, scales_d, scales_h, scales_w, scale_factors };

  explicit Interpolation(const CheckedArguments& arguments) : given_(arguments) {}

  void require(bool is_antialiased) const {
    for (const std::size_t place : {scales, scales_d, scales_h, scales_w, scale_factors}) {
      if (given_.has(place)) require_scales(place);
    }
    if (!given_.has(output_size)) return;
    const std::vector<std::int64_t> sizes = given_.numbers(output_size);
    for (const std::int64_t size : sizes) {
      given_.require(size > 0 && size < kMostExtent, output_size, "must hold sizes of 1 to 2^31");
    }
    if (!is_antialiased) return;
    const std::size_t image = given_.has(self) ? self : input;
    const at::Tensor& tensor = given_.tensor(image);
    given_.require(tensor.dim() == 4, image, "must have 4 dimensions");
    given_.require(sizes.size() == 2, output_size, "must hold 2 sizes");
    require_fit(scales_h, tensor.size(2), sizes[0]);
    require_fit(scales_w, tensor.size(3), sizes[1]);
  }

 private:
  void require_scales(std::size_t place) const {
    for (const double scale : given_.reals(place)) {
      given_.require(scale >= 1 / kMostScale && scale <= kMostScale, place, "must be a scale of 1e-6 to 1e6");
    }
  }

  void require_fit(std::size_t place, std::int64_t in, std::int64_t out) const {
    if (!given_.has(place)) return;
    const double difference = static_cast<double>(in) * given_.reals(place).front() - static_cast<double>(out);
    given_.require(std::fabs(difference) <= 1, place, "must be output size / input size");
  }

  const CheckedArguments& given_;
};

const std::vector<std::string_view> kInterpolationArguments = {"self",     "input",    "output_size", "scales",
                                                               "scales_d", "scales_h", "scales_w",    "scale_factors"};

template <bool is_antialiased>
void check_interpolation(const CheckedArguments& given) {
  Interpolation(given).require(is_antialiased);
}

}  // namespace

const std::vector<ArgumentRule>& image_rules() {
  static const std::vector<ArgumentRule> rules = {
      {{"_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"}, kInterpolationArguments, check_interpolation<true>},
      {{"upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
        "upsample_bicubic2d", "upsample_trilinear3d"},
       kInterpolationArguments,
       check_interpolation<false>},
      {{"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution",
        "_convolution"},
       {"input", "self", "weight", "stride", "padding", "dilation", "output_padding"},
       check_convolution},
      {{"reflection_pad1d", "replication_pad1d"}, {"self", "padding"}, check_margins<1>},
      {{"reflection_pad2d", "replication_pad2d"}, {"self", "padding"}, check_margins<2>},
      {{"reflection_pad3d", "replication_pad3d"}, {"self", "padding"}, check_margins<3>},
      {{"max_pool1d",
        "max_pool1d_with_indices",
        "max_pool2d",
        "max_pool2d_with_indices",
        "max_pool3d",
        "max_pool3d_with_indices",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "adaptive_avg_pool1d",
        "adaptive_avg_pool2d",
        "adaptive_avg_pool3d",
        "_adaptive_avg_pool2d",
        "_adaptive_avg_pool3d",
        "adaptive_max_pool1d",
        "adaptive_max_pool2d",
        "adaptive_max_pool3d",
        "max_unpool2d",
        "max_unpool3d",
        "im2col",
        "col2im",
        "constant_pad_nd",
        "pad",
        "_pad_circular",
        "_pad_enum"},
       kWindowArguments,
       check_windows},
  };
  return rules;
}

}  // namespace ddp::graph
