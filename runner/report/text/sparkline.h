#pragma once

#include <string>
#include <vector>

#include "report/read/loss_curve.h"

namespace ddp::report {

// A curve in one line of text, a character a point: "█▆▄▃▂▂▁▁". Empty for fewer than two points.
std::string sparkline(const std::vector<CurvePoint>& points);

}  // namespace ddp::report
