#include "config/length.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text_number.h"

namespace ddp::config {
namespace {

constexpr double kLongestPart = 1e9;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The length of "12" or "12.5" at the beginning of a text; 0 if the text begins with no such number.
std::size_t number_at_begin(const std::string& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == 0 || end == text.size() || text[end] != '.') return end;
  std::size_t decimals = end + 1;
  while (decimals < text.size() && is_digit(text[decimals])) ++decimals;
  return decimals == end + 1 ? 0 : decimals;
}

std::optional<RunPart::Unit> unit_in(std::string_view text) {
  if (text == " steps" || text == " step") return RunPart::Unit::steps;
  if (text == " epochs" || text == " epoch") return RunPart::Unit::epochs;
  if (text == "%" || text == " %") return RunPart::Unit::share;
  return {};
}
constexpr std::int64_t kLongestSpan = 1'000'000'000;

}  // namespace

std::optional<RunPart> read_run_part(const std::string& text) {
  const std::size_t end = number_at_begin(text);
  const auto unit = unit_in(std::string_view(text).substr(end));
  if (end == 0 || !unit) return {};
  const RunPart part{.amount = std::strtod(text.substr(0, end).c_str(), nullptr), .unit = *unit};
  const double most = *unit == RunPart::Unit::share ? 100 : kLongestPart;
  const bool whole = *unit != RunPart::Unit::steps || part.amount == std::floor(part.amount);
  return part.amount > 0 && part.amount <= most && whole ? std::optional(part) : std::nullopt;
}

std::int64_t RunPart::steps_of(const Length& run, const std::string& key) const {
  double steps = amount;
  if (unit == Unit::share) steps = amount * static_cast<double>(run.steps) / 100;
  if (unit == Unit::epochs) {
    if (run.micro_batches_per_epoch == 0) {
      throw usage_error("counts epochs, but the dataset has none", key,
                        "give steps, or a share of the steps such as \"5%\"");
    }
    steps = amount * static_cast<double>(run.steps_per_epoch);
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(steps + 0.5)));
}

bool counts_epochs(const Value& value) {
  if (!value.is_string()) return false;
  const auto part = read_run_part(value.get<std::string>());
  return part && part->unit == RunPart::Unit::epochs;
}

std::int64_t steps_of(const Value& value, const Length& run, const std::string& key) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const auto part = value.is_string() ? read_run_part(value.get<std::string>()) : std::nullopt;
  if (!part) throw usage_error("is not a part of a run", key, "give steps, or a text such as \"10 epochs\" or \"5%\"");
  return part->steps_of(run, key);
}

std::optional<std::int64_t> read_time_span(const std::string& text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  std::int64_t seconds = 0;
  for (const auto& [unit, length] : {std::pair{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}) {
    std::uint32_t count = 0;
    const auto [rest, error] = std::from_chars(at, end, count);
    if (error != std::errc{} || rest == end || *rest != unit) continue;
    seconds += static_cast<std::int64_t>(count) * length;
    at = rest + 1;
  }
  if (at != end || seconds < 1 || seconds > kLongestSpan) return {};
  return seconds;
}

const TextForm& text_form(const std::string& name) {
  static const std::map<std::string, TextForm> kForms = {
      {kPartForm,
       {.in_words = "a text such as \"10 epochs\", \"200 steps\" or \"5%\" (of the run)",
        .pattern = R"(^[0-9]+(\.[0-9]+)?( steps?| epochs?| ?%)$)",
        .fits = [](const std::string& text) { return read_run_part(text).has_value(); }}},
      {kTimeSpanForm,
       {.in_words = "a text such as \"2h30m\", with days (d), hours (h), minutes (m) and seconds (s)",
        .pattern = "^([0-9]+[dhms])*$",
        .fits = [](const std::string& text) { return text.empty() || read_time_span(text).has_value(); }}},
      {kCommandForm,
       {.in_words = "a command, which is not empty",
        .pattern = R"(\S)",
        .fits = [](const std::string& text) { return text.find_first_not_of(" \t\r\n") != std::string::npos; }}},
      {kBytesForm,
       {.in_words = "a text such as \"500MB\" or \"10GiB\"",
        .pattern = "^[0-9]+ *(B|[KMGT](B|iB)?)?$",
        .fits = [](const std::string& text) { return parse_bytes(text).has_value(); }}},
  };
  const auto found = kForms.find(name);
  if (found == kForms.end()) throw usage_error("components.json names an unknown form \"" + name + "\"");
  return found->second;
}

std::int64_t held_out(std::int64_t size, double split) {
  return static_cast<std::int64_t>(std::floor(split * static_cast<double>(size)));
}

std::int64_t samples_of_rank(std::int64_t size, int world_size, bool drop_last) {
  const std::int64_t whole = size / world_size;
  return drop_last || size % world_size == 0 ? whole : whole + 1;
}

std::int64_t micro_batches_of_rank(std::int64_t size, int world_size, std::int64_t batch_size, const Loader& loader) {
  const std::int64_t samples = samples_of_rank(size, world_size, loader.drop_last);
  return (loader.drop_last_batch ? samples : samples + batch_size - 1) / batch_size;
}

EpochPlace EpochPlace::converted(int new_world_size, std::int64_t new_batch_size) const {
  if (new_world_size == world_size && new_batch_size == batch_size) return *this;
  return {.position = 0, .offset = seen(), .world_size = new_world_size, .batch_size = new_batch_size};
}

Length length_of(const Experiment& e, std::int64_t per_epoch, const Done& done) {
  if (per_epoch == 0) {
    const std::int64_t steps = e.steps.value_or(0);
    return {.micro_batches_per_epoch = 0, .steps_per_epoch = steps, .steps = steps, .epochs = 1};
  }
  const auto steps_of = [&](std::int64_t micro_batches) { return (micro_batches + e.accumulate - 1) / e.accumulate; };
  const std::int64_t per = steps_of(per_epoch);
  const std::int64_t begun = done.left > 0 ? 1 : 0;
  const std::int64_t epochs_left = std::max<std::int64_t>(0, e.epochs.value_or(1) - done.epoch - begun);
  Length length{.micro_batches_per_epoch = per_epoch, .steps_per_epoch = per, .steps = 0, .epochs = 0};
  length.steps = e.steps.value_or(done.step + steps_of(done.left) + epochs_left * per);
  const std::int64_t after = std::max<std::int64_t>(0, length.steps - done.step - steps_of(done.left));
  length.epochs = done.epoch + begun + (after + per - 1) / per;
  return length;
}

bool saves_on_the_way(const Experiment& e, const Length& length) {
  const Period every = e.validation.period();
  const bool validates = every.steps > 0 ? length.steps > every.steps : length.epochs > every.epochs;
  const bool best = e.validation.exists() && e.checkpoint.keep_best > 0 && validates;
  return best || e.checkpoint.save_every > 0 || e.checkpoint.save_every_steps;
}

}  // namespace ddp::config
