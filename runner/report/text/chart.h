#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "report/read/loss_curve.h"
#include "report/text/terminal.h"

namespace ddp::report {

struct Curve {
  std::string name;  // a letter
  std::vector<CurvePoint> points;
};

// How many points of a curve a chart shows: fewer than it has columns, so that the losses of single steps do not hide
// which curve is below which.
std::size_t chart_points(const Terminal& terminal);

// A chart of curves over steps. In braille dots where they can be told apart, by colour or because there is one;
// otherwise each curve is drawn with the letter that names it. Losses of very different sizes get a logarithmic axis.
void print_chart(const std::vector<Curve>& curves, std::ostream& out, const Terminal& terminal);

}  // namespace ddp::report
