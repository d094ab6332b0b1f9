#include "report/text/moment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/text/chart.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::report {
namespace {

// A wait for data is worth a word from here.
constexpr double kWorthSaying = 0.05;

std::string of_all(const std::string& what, std::int64_t number, std::int64_t all) {
  return what + " " + std::to_string(number) + (all > 0 ? "/" + std::to_string(all) : "");
}

// A part of the line. Parts with the greatest number are left out first; parts with 0 stay.
struct Part {
  int spare;
  std::string text;
};

std::vector<Part> parts_of(const Moment& m) {
  std::vector<Part> parts;
  const auto add = [&parts](int spare, std::string text) { parts.push_back({spare, std::move(text)}); };
  add(3, of_all("epoch", m.epoch, m.epochs));
  add(0, of_all("step", m.step, m.steps));
  add(0, "loss " + (std::isfinite(m.loss) ? in_words(m.loss) : "not finite"));
  if (const std::string curve = sparkline(m.losses); !curve.empty()) add(4, curve);
  if (m.batches_to_measure > 0) {
    add(1, of_all("validating", std::min(m.batches_measured, m.batches_to_measure), m.batches_to_measure));
  } else if (m.samples_per_second > 0) {
    char rate[32];
    std::snprintf(rate, sizeof rate, "%.*f samples/s", m.samples_per_second < 10 ? 1 : 0, m.samples_per_second);
    add(2, rate);
  }
  if (m.seconds_per_step > 0) add(6, duration(m.seconds_per_step) + "/step");
  if (m.waiting_for_data > kWorthSaying) {
    add(5, std::to_string(std::lround(m.waiting_for_data * 100)) + " % waiting for data");
  }
  if (m.seconds > 0) add(7, duration(m.seconds) + " so far");
  if (m.seconds_left) add(1, duration(*m.seconds_left) + " left");
  return parts;
}

std::string line_of(const std::vector<Part>& parts) {
  std::string line;
  // The curve stands beside its loss.
  for (const Part& part : parts) line += (line.empty() ? "" : part.spare == 4 ? " " : " | ") + part.text;
  return line;
}

}  // namespace

std::string in_words(const Moment& moment, std::size_t width) {
  std::vector<Part> parts = parts_of(moment);
  while (text_width(line_of(parts)) > width) {
    const auto least =
        std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.spare < b.spare; });
    if (least->spare == 0) break;
    parts.erase(least);
  }
  return clipped(line_of(parts), width, "");
}

}  // namespace ddp::report
