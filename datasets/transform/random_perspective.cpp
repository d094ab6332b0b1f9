#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include <ATen/ops/linalg_lstsq.h>
#include <ATen/ops/tensor.h>

#include "datasets/transform/arguments.h"
#include "datasets/transform/random_apply.h"
#include "datasets/transform/transform.h"
#include "datasets/transform/warp.h"

namespace ddp::datasets {
namespace {

struct RandomPerspectiveOptions : ApplyOptions, SamplingOptions {
  double distortion_scale = 0.5;
  RandomPerspectiveOptions() { interpolation = "bilinear"; }
  void fields(config::Fields& f) {
    f({.name = "distortion_scale",
       .doc = "how far the corners move, as a share of half the image",
       .range = config::between(0, 1)},
      distortion_scale);
    ApplyOptions::fields(f);
    SamplingOptions::fields(f);
  }
};

// In whole pixels.
struct Corner {
  double x = 0;
  double y = 0;
};
using Corners = std::array<Corner, 4>;  // clockwise, from the upper left one

bool has_three_on_a_line(const Corners& corners) {
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Corner& a = corners[i];
    const Corner& b = corners[(i + 1) % corners.size()];
    const Corner& c = corners[(i + 2) % corners.size()];
    if ((b.x - a.x) * (c.y - a.y) == (b.y - a.y) * (c.x - a.x)) return true;
  }
  return false;
}

// Returns the coefficients of perspective() that move the corners `from` of an image to `to`: _get_perspective_coeffs
// of torchvision/transforms/functional.py.
at::Tensor coefficients_of(const Corners& from, const Corners& to) {
  std::vector<double> rows;
  std::vector<double> sources;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto [x, y] = to[i];
    const auto [source_x, source_y] = from[i];
    rows.insert(rows.end(), {x, y, 1, 0, 0, 0, -source_x * x, -source_x * y});
    rows.insert(rows.end(), {0, 0, 0, x, y, 1, -source_y * x, -source_y * y});
    sources.insert(sources.end(), {source_x, source_y});
  }
  const at::Tensor factors = at::tensor(rows, at::kDouble).view({8, 8});
  return std::get<0>(at::linalg_lstsq(factors, at::tensor(sources, at::kDouble), std::nullopt, "gels")).to(at::kFloat);
}

class RandomPerspective : public PixelTransform {
 public:
  explicit RandomPerspective(const RandomPerspectiveOptions& o) : o_(o), sampling_(o) {}

  std::optional<config::Value> for_evaluation() const override { return config::Value::array(); }

  // Draws x and y of each corner, clockwise from the upper left one. If three of them are on a line, no perspective
  // moves the image's corners there, and the image stays; v2 stops with an error.
  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const override {
    sampling_.check(image.channels());
    if (!draw_apply(o_.p, draws, draw_log)) return;
    const auto right = static_cast<double>(image.width() - 1);
    const auto bottom = static_cast<double>(image.height() - 1);
    const Corners from = {{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
    Corners to = from;
    for (Corner& corner : to) {
      corner.x = moved(corner.x, image.width(), draws);
      corner.y = moved(corner.y, image.height(), draws);
    }
    if (has_three_on_a_line(to)) return draw_log("apply", false);
    const at::Tensor coefficients = coefficients_of(from, to);
    const auto* const numbers = coefficients.const_data_ptr<float>();
    draw_log("coefficients", std::vector(numbers, numbers + coefficients.numel()));
    image.replace(perspective(image.pixels(), coefficients, sampling_));
  }

 private:
  // Moves a corner, at 0 or size - 1, towards the middle.
  double moved(double from, std::int64_t size, Draws& draws) const {
    const auto most = static_cast<std::uint64_t>(o_.distortion_scale * static_cast<double>(size / 2));
    const auto way = static_cast<double>(draws.below(most + 1));
    return from == 0 ? way : from - way;
  }

  const RandomPerspectiveOptions o_;
  const Sampling sampling_;
};

const bool random_perspective_registered = transforms().add<RandomPerspectiveOptions>(
    "RandomPerspective", "moves the corners towards the middle, with the probability p; left out in evaluation",
    config::made<RandomPerspective>);

}  // namespace
}  // namespace ddp::datasets
