#include "train/not_finite.h"

#include <cmath>
#include <sstream>

#include <ATen/ops/abs.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/max.h>
#include <ATen/ops/nonzero.h>

#include "base/own_command.h"
#include "record/summary.h"

namespace ddp::train {
namespace {

// Numbers above it are on no small scale: normalised ones are a few units at most.
constexpr double kSmallScale = 10;
// Below it, an even smaller lr is no remedy.
constexpr double kLeastLr = 1e-5;
// Above it, a tenth of lr is no remedy either.
constexpr double kMostLr = 10;
constexpr double kUsualLr = 0.01;

std::string printed(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

double smaller(double lr) { return lr > kMostLr ? kUsualLr : lr / 10; }

double largest_of(const at::Tensor& numbers) {
  if (!numbers.is_floating_point() || numbers.numel() == 0) return 0;
  return numbers.abs().max().item<double>();
}

double larger(double one, double other) { return std::isfinite(one) && !(other <= one) ? other : one; }

// Returns "10 of 160 inputs, the first at [3, 0] of [16, 10]"; "": all numbers are finite.
std::string not_finite_in_words(const at::Tensor& numbers, const std::string& name) {
  const at::Tensor places = at::isfinite(numbers).logical_not().nonzero().cpu();
  if (places.size(0) == 0) return "";
  const at::Tensor first = places[0].contiguous();  // nonzero() gives rows that are not contiguous
  return std::to_string(places.size(0)) + " of " + std::to_string(numbers.numel()) + " " + name + ", the first at " +
         c10::str(at::IntArrayRef(first.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(first.numel()))) +
         " of " + c10::str(numbers.sizes());
}

bool has_option(const config::Experiment& e, const char* option, const config::Value& value) {
  const auto given = e.dataset.options.find(option);
  return given != e.dataset.options.end() && *given == value;
}

// Returns the settings that bring large inputs and targets to a small scale: " --set dataset.normalise=standard".
std::string scaling(const config::Experiment& e, const LargestNumbers& largest) {
  std::string sets;
  if (largest.target > kSmallScale && has_option(e, "normalise_targets", false))
    sets += " --set dataset.normalise_targets=true";
  if (largest.input <= kSmallScale) return sets;
  if (has_option(e, "normalise", "none")) sets += " --set dataset.normalise=standard";
  return sets;
}

std::string plan_command() { return "`" + own_command("plan FILE") + "`"; }

std::string remedy_for_data(const config::Experiment& e) {
  const std::string correct = "correct these values in the data";
  return e.on_nan == "skip" ? correct : correct + "; or give --set on_nan=skip, which skips such steps";
}

// `may_skip`: a step could be left out instead.
std::string remedy_for_steps(const config::Experiment& e, const LargestNumbers& largest, bool may_skip) {
  std::string text;
  const auto add = [&](const std::string& choice) { text += (text.empty() ? "" : ", or ") + choice; };
  const std::string sets = scaling(e, largest);
  if (!sets.empty()) add("start a new run on a small scale:" + sets);
  const auto lr = e.optimizer.options.find("lr");
  const bool has_lr = lr != e.optimizer.options.end() && lr->is_number();
  if (has_lr && lr->get<double>() > kLeastLr) {
    add("give a smaller lr, such as --set optimizer.lr=" + printed(smaller(lr->get<double>())));
  } else if (sets.empty()) {
    add("look at the data and the model, for lr is small already: " + plan_command() +
        " shows the range of the first batch");
  }
  if (e.precision == "fp16") add("--set precision=fp32");
  if (may_skip && e.on_nan != "skip") add("--set on_nan=skip, which skips such steps");
  return text;
}

std::string what_is_large(const LargestNumbers& largest) {
  std::string text;
  if (largest.input > kSmallScale) text += "inputs as large as " + printed(largest.input);
  if (largest.target > kSmallScale)
    text += (text.empty() ? "" : " and ") + std::string("targets as large as ") + printed(largest.target);
  return text;
}

}  // namespace

LargestNumbers largest_of(const std::vector<at::Tensor>& inputs, const datasets::Batch& batch) {
  LargestNumbers largest;
  for (const at::Tensor& input : inputs) largest.input = larger(largest.input, largest_of(input));
  for (const auto& [name, target] : batch.targets) largest.target = larger(largest.target, largest_of(target));
  const auto look = [&](const at::Tensor& numbers, const char* name) {
    if (largest.not_finite.empty()) largest.not_finite = not_finite_in_words(numbers, name);
  };
  for (const at::Tensor& input : inputs) look(input, "inputs");
  for (const auto& [name, target] : batch.targets) look(target, "targets");
  return largest;
}

Error step_not_finite(const config::Experiment& e, std::int64_t step, const NotFinite& found,
                      const LargestNumbers& largest, const NamedTensors& parameters) {
  const std::string of_step = " of step " + std::to_string(step);
  const std::string on_rank = " (first on rank " + std::to_string(found.rank) + ")";
  const std::string unchanged = "; the weights were not changed";
  if (found.parameter) {
    return training_error(
        "the gradient" + of_step + record::kLossNotFinite + on_rank + ", first in the parameter \"" +
            parameters[*found.parameter].first + "\", while the loss was finite" + unchanged,
        "",
        "change an operation of the model that has no finite derivative there, such as sqrt at 0, or " +
            remedy_for_steps(e, largest, /*may_skip=*/true));
  }
  const std::string what = "the loss" + of_step + record::kLossNotFinite + on_rank;
  if (!std::isfinite(largest.input) || !std::isfinite(largest.target)) {
    return training_error(what + ", for " + record::kDataNotFinite + ": " + largest.not_finite + unchanged, "",
                          remedy_for_data(e));
  }
  const std::string large = what_is_large(largest);
  return training_error(what + (large.empty() ? "" : ", with " + large) + unchanged, "",
                        remedy_for_steps(e, largest, /*may_skip=*/true));
}

Error state_not_finite(const config::Experiment& e, std::int64_t step, const std::string& name,
                       const LargestNumbers& largest) {
  return training_error(
      "after step " + std::to_string(step) + ", " + name + record::kLossNotFinite + ": the updates were too large", "",
      remedy_for_steps(e, largest, /*may_skip=*/false));
}

Error steps_skipped(const config::Experiment& e, std::int64_t steps, std::int64_t skipped) {
  const std::string count = skipped == steps ? "all " + std::to_string(steps) + " steps"
                                             : std::to_string(skipped) + " of " + std::to_string(steps) + " steps";
  const bool fp16 = e.precision == "fp16";
  return training_error(
      count + " changed no weight, because a loss or a gradient was not finite" +
          (fp16 ? "; the loss scale of fp16 halves at each such step" : ""),
      "", fp16 ? "--set precision=fp32" : "--set on_nan=stop ends a run at such a step and names the cause");
}

}  // namespace ddp::train
