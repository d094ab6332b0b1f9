#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace ddp::report {

struct CurvePoint {
  double step = 0;
  double loss = 0;
};

// The losses of a run's steps in no more than that many points, each the mean of the steps of its part of
// metrics.jsonl. Of a large file only the beginning of each part is read, so that it takes no longer than a small one.
// What is no step's line, or has no finite loss, is passed over; where there is no such file, there are no points.
std::vector<CurvePoint> loss_curve(const std::filesystem::path& metrics, std::size_t most_points);

}  // namespace ddp::report
