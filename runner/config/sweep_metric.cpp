#include "config/sweep_metric.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "config/check/check_root.h"
#include "config/check/metric_rules.h"

namespace ddp::config {
namespace {

constexpr std::size_t kMostCombinations = 1000;
constexpr std::size_t kMostNamed = 3;

// Sections whose keys decide which metrics are measured. The dataset gives the loss if the file names none.
constexpr std::string_view kDeciding[] = {"metrics", "loss", "validation", "dataset"};

bool decides(const Parameter& parameter) {
  const std::string section = parameter.key.substr(0, parameter.key.find('.'));
  return std::find(std::begin(kDeciding), std::end(kDeciding), section) != std::end(kDeciding);
}

std::vector<Point> combinations(const std::vector<Parameter>& parameters) {
  std::vector<Point> all(1);
  for (const Parameter& parameter : parameters) {
    std::vector<Point> longer;
    for (const Point& point : all) {
      for (const Node& value : parameter.samples()) {
        if (longer.size() == kMostCombinations) break;
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// "loss = "mse", validation.split = 0"
std::string point_in_words(const std::vector<Parameter>& parameters, const Point& point) {
  std::string text;
  for (std::size_t i = 0; i < point.size(); ++i) {
    text += (i > 0 ? ", " : "") + parameters[i].key + " = " +
            to_value(point[i]).dump(-1, ' ', false, Value::error_handler_t::replace);
  }
  return text;
}

// The points with the same mistake, and its remedy.
struct Refused {
  std::string remedy;
  std::vector<std::string> points = {};
};

std::string points_in_words(const std::vector<std::string>& points) {
  std::string text;
  for (std::size_t i = 0; i < std::min(points.size(), kMostNamed); ++i) text += (i > 0 ? " or " : "") + points[i];
  return points.size() > kMostNamed ? text + ", and " + std::to_string(points.size() - kMostNamed) + " more" : text;
}

}  // namespace

void check_sweep_metric(const Sweep& sweep, const SourceRange& place, const Compose& compose,
                        const Components& components, Problems& problems) {
  std::vector<Parameter> deciding;
  std::copy_if(sweep.parameters.begin(), sweep.parameters.end(), std::back_inserter(deciding), decides);
  std::map<std::string, Refused> refused;
  for (const Point& point : combinations(deciding)) {
    Problems of_trial;  // trial() reports them
    Node root = compose(deciding, point);
    supply_loss(root, components, of_trial);
    const auto why = unmeasured(sweep.metric.name, root, components);
    if (!why) continue;
    const auto entry = refused.try_emplace(why->what, Refused{.remedy = why->remedy}).first;
    entry->second.points.push_back(point_in_words(deciding, point));
  }
  for (const auto& [what, of] : refused) {
    const std::string with = deciding.empty() ? "" : ", in trials with " + points_in_words(of.points);
    problems.add(place, what + with, of.remedy);
  }
}

}  // namespace ddp::config
