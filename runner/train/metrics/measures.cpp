#include "train/metrics/measures.h"

#include <algorithm>
#include <set>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include "base/error.h"
#include "config/metric.h"
#include "datasets/table/encoder.h"
#include "train/loss/loss.h"
#include "train/metrics/metric.h"

namespace ddp::train {

MetricRegistry& metrics() {
  static MetricRegistry instance("metric");
  return instance;
}

void require_as_many_targets(const std::string& metric, std::size_t first, std::size_t second) {
  if (first == second) return;
  throw usage_error("the metric \"" + metric + "\" cannot be measured: the number of targets of a sample varies",
                    "metrics", "use mae or mse for such targets");
}

namespace {

Measures::Named build_metric(const std::string& name, const std::string& key = "") {
  auto [component, output] = config::output_metric(name);
  config::Value options = config::Value::object();
  const auto numbered = config::numbered_name(component);
  if (!metrics().contains(component) && numbered && metrics().contains(numbered->family)) {
    component = numbered->family;
    options[metrics().traits(component).value("number", "n")] = numbered->number;
  }
  const config::Value& traits = metrics().traits(component);
  return {.name = name,
          .key = key,
          .output = output,
          .metric = metrics().build(component, options),
          .of = traits.value("of", std::vector<std::string>()),
          .matrix = traits.value("matrix", false)};
}

// Returns the tensor of the metric's output or target.
at::Tensor named_in(const NamedTensors& tensors, const Measures::Named& metric, const std::string& lacking) {
  at::Tensor found = tensor_named(metric.output, tensors);
  if (found.defined()) return found;
  std::string names;
  for (const auto& [name, tensor] : tensors) names += (names.empty() ? "" : ", ") + name;
  throw usage_error("the metric \"" + metric.name + "\" cannot be measured: " + lacking, metric.key,
                    "there " + std::string(tensors.size() == 1 ? "is " : "are ") + names);
}

bool measures(const Measures::Named& one, OutputMeaning meaning) {
  return one.of.empty() || std::find(one.of.begin(), one.of.end(), to_string(meaning)) != one.of.end();
}

// Returns why the metric cannot be measured; empty: it can be.
std::string refusal_of(const Measures::Named& one, const Scores& scores) {
  if (measures(one, scores.meaning())) return one.metric->refusal(scores);
  std::string kinds;
  for (const std::string& kind : one.of) kinds += (kinds.empty() ? "" : " or ") + kind;
  const bool other = scores.meaning() == OutputMeaning::other;
  return "it measures " + kinds + ", and " +
         (other ? scores.why_other() : std::string("with this loss the targets are ") + to_string(scores.meaning()));
}

std::string that_fit(const Scores& scores) {
  std::string fitting;
  const auto add = [&](const std::string& name) { fitting += (fitting.empty() ? "" : ", ") + name; };
  for (const std::string& name : metrics().names()) {
    if (metrics().traits(name).contains("number")) continue;
    if (refusal_of(build_metric(name), scores).empty()) add(name);
  }
  const bool top = scores.meaning() == OutputMeaning::classes && scores.columns() > 2;
  if (top) add("top2 to top" + std::to_string(scores.columns() - 1));
  return fitting.empty() ? "none; give metrics = [] to measure the loss alone" : fitting;
}

}  // namespace

namespace {

TargetUnits units_of(const std::vector<datasets::Scale>& scales) {
  if (scales.empty()) return {};
  const at::Tensor factors = at::ones({static_cast<std::int64_t>(scales.size())}, at::kDouble);
  const at::Tensor shifts = at::zeros_like(factors);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (scales[i].kind != datasets::Scale::Kind::standard) continue;
    factors.mutable_data_ptr<double>()[i] = scales[i].factor;
    shifts.mutable_data_ptr<double>()[i] = scales[i].shift;
  }
  return {.factor = factors, .shift = shifts, .transform = scales.front().transform};
}

}  // namespace

Measures::Measures(const config::Experiment& experiment, const config::Value& preprocessing)
    : given_(!experiment.metrics.is_null()),
      reading_{.ignored = experiment.ignored_target(), .units = units_of(datasets::target_scales(preprocessing))} {
  if (preprocessing.is_object()) classes_ = preprocessing.value("classes", std::vector<std::string>());
  if (preprocessing.is_object()) targets_ = preprocessing.value("targets", std::vector<std::string>());
  if (targets_.size() == 1) targets_.clear();
  const auto given = experiment.dataset.options.find("positive");
  if (!classes_.empty() && given != experiment.dataset.options.end()) {
    reading_.positive = datasets::positive_class(*given, datasets::ValueNames(classes_));
  }
  const std::string& loss = experiment.loss.name;
  reading_.kind = read_output_kind(losses().traits(loss).value("outputs", ""));
  const config::Value& listed = experiment.metrics;
  for (const std::string& name : experiment.metric_names()) {
    const auto place = std::find(listed.begin(), listed.end(), name) - listed.begin();
    metrics_.push_back(build_metric(name, "metrics[" + std::to_string(place) + "]"));
  }
  if (!experiment.decide.on()) return;
  auto decider = std::make_unique<Decider>(experiment.decide);
  decider_ = decider.get();
  metrics_.push_back({.name = kDecide, .key = "decide", .output = "", .metric = std::move(decider), .of = {}});
}

void Measures::require(const std::optional<Answers>& main, const NamedTensors& outputs,
                       const NamedTensors& targets) const {
  std::vector<Statistics> none(metrics_.size());
  add(main, outputs, targets, none);
}

bool Measures::needs_main_output() const {
  return std::any_of(metrics_.begin(), metrics_.end(), [](const Named& one) { return one.output.empty(); });
}

std::string Measures::class_name(std::int64_t number) const {
  const auto place = static_cast<std::size_t>(number);
  return place < classes_.size() ? classes_[place] : std::to_string(number);
}

void Measures::for_each_part(const at::Tensor& output, const at::Tensor& target,
                             const std::function<void(const Scores&)>& take) const {
  train::for_each_part(output, target, reading_, take);
}

void Measures::add_part(const Scores& scores, const std::string& output, std::vector<Statistics>& statistics) const {
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].output != output) continue;
    const std::string why = refusal_of(metrics_[i], scores);
    if (why.empty()) {
      metrics_[i].metric->add(scores, statistics[i]);
    } else if (metrics_[i].name == kDecide) {
      throw usage_error("cannot be fitted: " + why, metrics_[i].key);
    } else if (given_) {
      throw usage_error("the metric \"" + metrics_[i].name + "\" cannot be measured: " + why, metrics_[i].key,
                        "metrics for these targets: " + that_fit(scores));
    } else {
      statistics[i].leave_out();
    }
  }
}

void Measures::add(const std::optional<Answers>& main, const NamedTensors& outputs, const NamedTensors& targets,
                   std::vector<Statistics>& statistics) const {
  for (Statistics& one : statistics) one.begin_batch();
  if (main && needs_main_output()) {
    for_each_part(main->output, main->target, [&](const Scores& scores) { add_part(scores, "", statistics); });
  }
  std::set<std::string> others;
  for (const Named& one : metrics_) {
    if (one.output.empty() || !others.insert(one.output).second) continue;
    const at::Tensor output = named_in(outputs, one, "the model gives no output of this name");
    const at::Tensor target = named_in(targets, one, "the dataset gives no target of this name");
    const at::Tensor rows = as_output(target, output);
    train::for_each_part(output, rows, {.ignored = reading_.ignored},
                         [&](const Scores& scores) { add_part(scores, one.output, statistics); });
  }
}

}  // namespace ddp::train
