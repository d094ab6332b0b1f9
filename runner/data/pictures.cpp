#include "data/pictures.h"

#include <algorithm>

#include <ATen/ops/nan_to_num.h>

namespace ddp::data {
namespace {

constexpr std::int64_t kLongestSide = 96;
constexpr std::int64_t kShortestSide = 4;

// Returns uint8 [n, c, h, w]; undefined if the samples are not pictures.
at::Tensor as_bytes(at::Tensor pixels) {
  if (pixels.dim() == 3) pixels = pixels.unsqueeze(1);
  if (pixels.dim() != 4 || (pixels.size(1) != 1 && pixels.size(1) != 3)) return {};
  if (std::min(pixels.size(2), pixels.size(3)) < kShortestSide) return {};
  const std::int64_t every = (std::max(pixels.size(2), pixels.size(3)) + kLongestSide - 1) / kLongestSide;
  pixels = pixels.slice(2, 0, c10::nullopt, every).slice(3, 0, c10::nullopt, every).to(at::kDouble).nan_to_num(0, 0, 0);
  const double least = pixels.min().item<double>();
  const double range = pixels.max().item<double>() - least;
  return pixels.sub(least).mul(range > 0 ? 255 / range : 1).round().to(at::kByte);
}

std::string in_hexadecimal_digits(const at::Tensor& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const at::Tensor in_order = bytes.contiguous();
  const auto* byte = in_order.const_data_ptr<std::uint8_t>();
  std::string text;
  text.reserve(static_cast<std::size_t>(2 * in_order.numel()));
  for (std::int64_t i = 0; i < in_order.numel(); ++i) {
    text += kDigits[byte[i] >> 4];
    text += kDigits[byte[i] & 15];
  }
  return text;
}

}  // namespace

config::Value pictures_of(const at::Tensor& inputs, const std::vector<std::int64_t>& shape,
                          const std::vector<std::string>& labels) {
  config::Value pictures = config::Value::array();
  std::vector<std::int64_t> whole = inputs.sizes().vec();
  if (!shape.empty()) {
    whole = {inputs.size(0)};
    whole.insert(whole.end(), shape.begin(), shape.end());
  }
  const at::Tensor bytes = as_bytes(inputs.reshape(whole));
  if (!bytes.defined()) return pictures;
  for (std::int64_t i = 0; i < bytes.size(0); ++i) {
    pictures.push_back({{"width", bytes.size(3)},
                        {"height", bytes.size(2)},
                        {"channels", bytes.size(1)},
                        {"pixels", in_hexadecimal_digits(bytes[i].permute({1, 2, 0}))},
                        {"label", labels.empty() ? "" : labels.at(static_cast<std::size_t>(i))}});
  }
  return pictures;
}

}  // namespace ddp::data
