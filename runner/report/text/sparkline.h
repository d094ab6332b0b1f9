#pragma once

#include <string>
#include <vector>

#include "report/read/loss_curve.h"

namespace ddp::report {

// Returns a curve as one line of text, one character per point: "█▆▄▃▂▂▁▁". Empty for fewer than two points.
std::string sparkline(const std::vector<CurvePoint>& points);

}  // namespace ddp::report
