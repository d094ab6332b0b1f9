#include "record/metrics/step_line.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ddp::record {
namespace {

// Consumes expected text from the front of a line. After the first mismatch it consumes nothing more.
class Front {
 public:
  explicit Front(std::string_view line) : rest_(line) {}

  Front& text(std::string_view expected) {
    good_ = good_ && rest_.starts_with(expected);
    if (good_) rest_.remove_prefix(expected.size());
    return *this;
  }

  Front& count(std::int64_t& value) {
    take(value);
    good_ = good_ && value >= 0;
    return *this;
  }

  // Takes null as NaN: not finite.
  Front& number(double& value) {
    if (good_ && rest_.starts_with("null")) {
      value = std::numeric_limits<double>::quiet_NaN();
      return text("null");
    }
    take(value);
    good_ = good_ && std::isfinite(value);  // from_chars takes "inf" too
    return *this;
  }

  // Consumes the text if the line continues with it.
  bool found(std::string_view text) {
    const bool here = good_ && rest_.starts_with(text);
    if (here) rest_.remove_prefix(text.size());
    return here;
  }

  bool ended(std::string_view one, std::string_view other) const { return good_ && (rest_ == one || rest_ == other); }

 private:
  template <class Number>
  void take(Number& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    good_ = good_ && error == std::errc{};
    if (good_) rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::optional<StepLine> read_step_line(std::string_view line) {
  StepLine step;
  std::int64_t samples = 0;
  Front front(line);
  front.text(R"({"event":"step","epoch":)").count(step.epoch);
  front.text(R"(,"step":)").count(step.step);
  front.text(R"(,"loss":)").number(step.loss);
  front.text(R"(,"lr":)").number(step.lr);
  front.text(R"(,"samples":)").count(samples);
  front.text(R"(,"samples_per_second":)").number(step.samples_per_second);
  front.text(R"(,"seconds":)").number(step.seconds);
  if (front.found(R"(,"grad_norm":)")) front.number(step.grad_norm.emplace());
  front.found(R"(,"skipped":true)");
  if (!front.ended("}", R"(,"finite":false})")) return {};
  if (!std::isfinite(step.seconds)) step.seconds = 0;
  return step;
}

}  // namespace ddp::record
