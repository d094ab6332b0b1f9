#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "report/read/history.h"
#include "report/text/table.h"

namespace ddp::report {

// Returns a curve as one line of text, one character per point: "█▆▄▃▂▂▁▁". Empty for fewer than two points.
std::string sparkline(const std::vector<CurvePoint>& points);

struct Curve {
  std::string name;  // a letter
  std::vector<CurvePoint> points;
};

// Returns the number of points per curve in a chart: fewer than its columns, so that the losses of single steps do not
// hide which curve is lower.
std::size_t chart_points(const Terminal& terminal);

// Prints a chart of curves over steps. Uses braille dots if the curves are distinct, by colour or because there is only
// one; otherwise each curve is drawn with its letter. Losses of very different sizes get a logarithmic axis.
void print_chart(const std::vector<Curve>& curves, std::ostream& out, const Terminal& terminal);

}  // namespace ddp::report
