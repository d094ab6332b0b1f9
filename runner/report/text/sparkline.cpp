#include "report/text/sparkline.h"

#include <algorithm>

namespace ddp::report {

std::string sparkline(const std::vector<CurvePoint>& points) {
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (points.size() < 2) return "";
  const auto [low, high] =
      std::minmax_element(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.loss < b.loss; });
  // Halves: the difference of two huge losses would be infinite.
  const double range = high->loss / 2 - low->loss / 2;
  std::string line;
  for (const CurvePoint& point : points) {
    const double height = range > 0 ? (point.loss / 2 - low->loss / 2) / range : 0;
    line += kBars[std::min(7, static_cast<int>(height * 8))];
  }
  return line;
}

}  // namespace ddp::report
