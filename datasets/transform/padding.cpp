#include "datasets/transform/padding.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include "base/error.h"
#include "datasets/transform/arguments.h"

namespace ddp::datasets {
namespace {

// Returns for each place of the padded row the index of its pixel in the row of `size` pixels (int64).
at::Tensor padded_places(std::int64_t before, std::int64_t size, std::int64_t after, const std::string& mode) {
  const std::int64_t most = std::max(before, after);
  if ((mode == "reflect" && most >= size) || (mode == "symmetric" && most > size)) {
    throw usage_error("an image of " + std::to_string(size) + " pixels is too small to be padded by " +
                          std::to_string(most) + " with padding_mode = \"" + mode + "\"",
                      "", "pad less, or use \"constant\" or \"edge\"");
  }
  const at::Tensor places = at::empty({before + size + after}, at::kLong);
  auto* next = places.mutable_data_ptr<std::int64_t>();
  const std::int64_t repeated = mode == "symmetric" ? 1 : 0;  // 1: the mirror image contains the edge pixel
  for (std::int64_t at = -before; at < size + after; ++at) {
    std::int64_t from = std::clamp<std::int64_t>(at, 0, size - 1);
    if (mode != "edge" && at < 0) from = -at - repeated;
    if (mode != "edge" && at >= size) from = 2 * (size - 1) - at + repeated;
    *next++ = from;
  }
  return places;
}

}  // namespace

void check_padding(const std::vector<double>& fill, const std::string& mode) {
  if (mode == "constant" || fill.size() == 1) return;
  throw usage_error("a list needs padding_mode = \"constant\", not \"" + mode + "\"", "fill");
}

void pad_image(Image& image, const Border& border, const std::vector<double>& fill, const std::string& mode) {
  if (mode == "constant") {
    check_channels(fill, image.channels(), "fill");
    std::array<std::uint8_t, 3> color = {};
    for (std::size_t c = 0; c < color.size(); ++c) {
      color[c] = static_cast<std::uint8_t>(fill[std::min(c, fill.size() - 1)]);
    }
    image.pad(border, color);
    return;
  }
  const at::Tensor rows = padded_places(border.top, image.height(), border.bottom, mode);
  const at::Tensor columns = padded_places(border.left, image.width(), border.right, mode);
  image.replace(at::index_select(at::index_select(image.pixels(), 1, rows), 2, columns));
}

}  // namespace ddp::datasets
