#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace ddp::report {

struct CurvePoint {
  double step = 0;
  double loss = 0;
};

// Returns the losses of a run's steps as at most `most_points` points; each is the mean of the steps in its part of
// metrics.jsonl. Reads only the beginning of each part: a large file takes no longer than a small one. Skips lines that
// are not a step or have no finite loss. Returns no points if the file is missing.
std::vector<CurvePoint> loss_curve(const std::filesystem::path& metrics, std::size_t most_points);

}  // namespace ddp::report
