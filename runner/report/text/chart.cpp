#include "report/text/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>

#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::report {
namespace {

constexpr std::size_t kRows = 12;
constexpr std::size_t kWidest = 100;
constexpr std::size_t kLabel = 10;   // columns of the numbers on the left
constexpr double kLogarithmic = 50;  // a logarithmic axis is used if the greatest loss exceeds the least one times this

// Eight colours that are distinct on light and dark backgrounds.
constexpr const char* kColours[] = {"34", "31", "32", "35", "36", "33", "94", "91"};

std::size_t columns_of(const Terminal& terminal) {
  return std::max<std::size_t>(16,
                               std::min(terminal.width, kWidest) - std::min<std::size_t>(kLabel + 2, terminal.width));
}

// Converts a loss to its height on the axis and back.
struct Axis {
  bool logarithmic = false;
  double low = 0;
  double high = 0;

  double height(double loss) const { return logarithmic ? std::log10(loss) : loss; }
  double loss(double height) const { return logarithmic ? std::pow(10, height) : height; }
};

struct Frame {
  double first_step = INFINITY;
  double last_step = -INFINITY;
  Axis axis;
};

Frame frame_of(const std::vector<Curve>& curves) {
  Frame frame;
  double low = INFINITY;
  double high = -INFINITY;
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      frame.first_step = std::min(frame.first_step, point.step);
      frame.last_step = std::max(frame.last_step, point.step);
      low = std::min(low, point.loss);
      high = std::max(high, point.loss);
    }
  }
  frame.axis.logarithmic = low > 0 && high / low > kLogarithmic;
  frame.axis.low = frame.axis.height(low);
  frame.axis.high = frame.axis.height(high);
  return frame;
}

// A cell: the dots of a braille character (or whether it has any), and their curve.
struct Cell {
  std::uint8_t dots = 0;
  std::size_t curve = 0;
};

class Canvas {
 public:
  // `across` and `down`: dots of a cell.
  Canvas(std::size_t columns, std::size_t across, std::size_t down)
      : columns_(columns), across_(across), down_(down), cells_(columns * kRows) {}

  void draw(const Curve& curve, std::size_t index, const Frame& frame) {
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const CurvePoint& from = curve.points[i > 0 ? i - 1 : 0];
      const CurvePoint& to = curve.points[i];
      const double x = column_of(from, frame), across = column_of(to, frame) - x;
      const double y = row_of(from, frame), down = row_of(to, frame) - y;
      const double parts = std::max({1.0, std::abs(across), std::abs(down)});
      for (double part = 1; part <= parts; ++part) dot(x + across * (part / parts), y + down * (part / parts), index);
    }
  }

  const Cell& at(std::size_t row, std::size_t column) const { return cells_[row * columns_ + column]; }

 private:
  // Halves: the difference of two huge losses would be infinite.
  static double place(double value, double low, double high, std::size_t dots) {
    const double range = high / 2 - low / 2;
    return range > 0 ? (value / 2 - low / 2) / range * static_cast<double>(dots - 1) : 0;
  }

  double column_of(const CurvePoint& point, const Frame& frame) const {
    return place(point.step, frame.first_step, frame.last_step, columns_ * across_);
  }
  double row_of(const CurvePoint& point, const Frame& frame) const {
    return place(-frame.axis.height(point.loss), -frame.axis.high, -frame.axis.low, kRows * down_);
  }

  void dot(double x, double y, std::size_t curve) {
    // The dots of U+2800: the left column from the top, then the right one.
    static constexpr std::uint8_t kDots[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    const auto column = static_cast<std::size_t>(std::lround(x));
    const auto row = static_cast<std::size_t>(std::lround(y));
    Cell& cell = cells_[row / down_ * columns_ + column / across_];
    // The first curve of a cell stays in front of later ones.
    if (cell.dots == 0) cell.curve = curve;
    if (cell.curve == curve) cell.dots |= kDots[column % across_][row % down_];
  }

  const std::size_t columns_;
  const std::size_t across_;
  const std::size_t down_;
  std::vector<Cell> cells_;
};

std::string braille(std::uint8_t dots) {
  return {'\xe2', static_cast<char>(0xa0 + (dots >> 6)), static_cast<char>(0x80 + (dots & 0x3f))};
}

std::string right(const std::string& text) { return std::string(kLabel - std::min(kLabel, text.size()), ' ') + text; }

// Labels the top with the greatest loss, the middle with the middle of the axis, the bottom with the least loss.
std::string label(std::size_t row, const Axis& axis) {
  if (row == 0) return right(in_words(axis.loss(axis.high)));
  if (row == kRows - 1) return right(in_words(axis.loss(axis.low)));
  if (row == kRows / 2) return right(in_words(axis.loss(axis.high / 2 + axis.low / 2)));
  return right("");
}

std::string drawn(const Cell& cell, const std::vector<Curve>& curves, bool in_dots, bool colour) {
  if (cell.dots == 0) return " ";
  const std::string mark = in_dots ? braille(cell.dots) : curves[cell.curve].name;
  if (!colour) return mark;
  return std::string("\x1b[") + kColours[cell.curve % std::size(kColours)] + "m" + mark + "\x1b[0m";
}

// Prints the colour of each curve.
void print_legend(const std::vector<Curve>& curves, std::ostream& out) {
  out << right("") << "  ";
  for (std::size_t i = 0; i < curves.size(); ++i) {
    out << (i > 0 ? "  " : "") << "\x1b[" << kColours[i % std::size(kColours)] << "m" << curves[i].name << "\x1b[0m";
  }
  out << "\n";
}

}  // namespace

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

std::size_t chart_points(const Terminal& terminal) { return columns_of(terminal) / 2; }

void print_chart(const std::vector<Curve>& curves, std::ostream& out, const Terminal& terminal) {
  const std::size_t columns = columns_of(terminal);
  const bool in_dots = terminal.utf8 && (terminal.colour || curves.size() == 1);
  const Frame frame = frame_of(curves);
  Canvas canvas(columns, in_dots ? 2 : 1, in_dots ? 4 : 1);
  for (std::size_t i = 0; i < curves.size(); ++i) canvas.draw(curves[i], i, frame);
  for (std::size_t row = 0; row < kRows; ++row) {
    std::string line = label(row, frame.axis) + (terminal.utf8 ? " │" : " |");
    std::string spaces;
    for (std::size_t column = 0; column < columns; ++column) {
      const std::string mark = drawn(canvas.at(row, column), curves, in_dots, terminal.colour);
      spaces += mark == " " ? " " : "";
      if (mark != " ") line += std::exchange(spaces, "") + mark;
    }
    out << line << "\n";
  }
  std::string rule;
  for (std::size_t column = 0; column < columns; ++column) rule += terminal.utf8 ? "─" : "-";
  out << right("") << (terminal.utf8 ? " └" : " +") << rule << "\n";
  const std::string first = "step " + std::to_string(std::llround(frame.first_step));
  const std::string last = std::to_string(std::llround(frame.last_step));
  const std::size_t gap = columns - std::min(columns, first.size() + last.size());
  out << right("") << "  " << first << std::string(std::max<std::size_t>(1, gap), ' ') << last << "\n";
  if (terminal.colour && in_dots && curves.size() > 1) print_legend(curves, out);
}

}  // namespace ddp::report
