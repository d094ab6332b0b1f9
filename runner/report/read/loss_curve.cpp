#include "report/read/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "record/file/input_file.h"
#include "record/metrics/event_reader.h"

namespace ddp::report {
namespace {

constexpr std::uint64_t kPiece = 4096;  // most bytes read of one part: about twenty lines
constexpr std::uint64_t kLine = 1024;   // longer than any step's line

struct Mean {
  double step = 0;
  double loss = 0;
  double lines = 0;
  record::Event event = {};

  void add(std::string_view line) {
    const auto kind = record::kind_in_front(line);
    if (kind && *kind != record::EventKind::step) return;
    if (!record::read_event(line, event) || event.kind != record::EventKind::step) return;
    const double value = event.number("loss");
    if (!std::isfinite(value)) return;
    step += static_cast<double>(event.step);
    loss += value;
    ++lines;
  }
};

// Returns the mean of the lines that begin between two offsets of the file.
Mean mean_between(const record::InputFile& file, std::uint64_t begin, std::uint64_t end) {
  // The byte before it shows whether a line begins there.
  const std::uint64_t from = begin == 0 ? 0 : begin - 1;
  const std::uint64_t to = std::min(file.size(), std::min(end, begin + kPiece) + kLine);
  std::string text(to - from, '\0');
  file.read(from, text.data(), text.size());
  std::size_t at = begin == 0 ? 0 : text.find('\n');
  if (begin != 0 && at != std::string::npos) ++at;
  Mean mean;
  while (at < text.size() && from + at < end) {
    const std::size_t line_end = text.find('\n', at);
    if (line_end == std::string::npos) break;
    mean.add(std::string_view(text).substr(at, line_end - at));
    at = line_end + 1;
  }
  return mean;
}

}  // namespace

std::vector<CurvePoint> loss_curve(const std::filesystem::path& metrics, std::size_t most_points) try {
  const record::InputFile file(metrics);
  std::vector<CurvePoint> points;
  for (std::size_t i = 0; i < most_points; ++i) {
    const auto place = [&](std::size_t part) {
      return static_cast<std::uint64_t>(static_cast<long double>(file.size()) * part / most_points);
    };
    if (place(i) == place(i + 1)) continue;
    const Mean mean = mean_between(file, place(i), place(i + 1));
    if (mean.lines > 0) points.push_back({.step = mean.step / mean.lines, .loss = mean.loss / mean.lines});
  }
  return points;
} catch (const Error&) {  // the file is missing, or became shorter
  return {};
}

}  // namespace ddp::report
