#include "sweep/trials.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/error.h"
#include "config/difference.h"
#include "report/text/words.h"

namespace ddp::sweep {

Trials::Trials(const config::Sweep& sweep, search::Search& search) : sweep_(sweep), search_(search) {
  for (int i = 0; i < search.trials(); ++i) all_.push_back({.number = i});
}

void Trials::check_number(const Event& event) const {
  if (event.trial < static_cast<int>(all_.size())) return;
  throw usage_error("the sweep has " + std::to_string(all_.size()) + " trials, but its journal names trial " +
                        std::to_string(event.trial),
                    "journal.jsonl", "give at least as many trials as before");
}

void Trials::check_parameters(const Event& event) const {
  const config::Value own = parameters(event.trial);
  if (!config::first_difference(event.parameters, own)) return;
  throw usage_error("trial " + std::to_string(event.trial) + " began with " + in_words(event.parameters) +
                        ", and the sweep now gives it " + in_words(own),
                    "journal.jsonl", "begin another sweep, or leave [sweep] as it was");
}

void Trials::take(const Event& event) {
  check_number(event);
  Trial& trial = all_[event.trial];
  if (event.kind == "started") {
    search_.recall(event.trial, event.parameters);
    check_parameters(event);
    trial.status = Status::running;
    trial.until_epoch = event.until_epoch;
    search_.begun({.trial = event.trial, .epochs = event.until_epoch});
    return;
  }
  trial.epochs = event.epochs;
  trial.seconds = event.seconds;
  trial.metric.reset();
  if (event.metric) trial.metric = event.metric;
  trial.stopped_by = event.stopped_by;
  trial.error = event.error;
  if (event.kind == "interrupted") {
    trial.status = Status::interrupted;
  } else if (event.kind == "failed") {
    trial.status = Status::failed;
    ++trial.failures;
    if (event.not_finite) search_.ended(event.trial, event.epochs, std::numeric_limits<double>::quiet_NaN());
  } else {
    trial.status = event.kind == "finished" ? Status::completed : Status::paused;
    const std::int64_t epochs = trial.status == Status::completed ? search::kToItsEnd : event.epochs;
    if (trial.metric) search_.ended(event.trial, epochs, sweep_.metric.cost(*trial.metric));
  }
}

config::Value Trials::decided_parameters(int trial) const {
  return search_.decided(trial) ? parameters(trial) : config::Value::object();
}

int Trials::count(Status status) const {
  return static_cast<int>(
      std::count_if(all_.begin(), all_.end(), [&](const Trial& trial) { return trial.status == status; }));
}

std::vector<const Trial*> Trials::in_order() const {
  std::vector<const Trial*> all;
  for (const Trial& trial : all_) all.push_back(&trial);
  return all;
}

std::vector<const Trial*> Trials::ranking() const {
  std::vector<const Trial*> ranked = in_order();
  const auto place = [&](const Trial* t) { return std::tuple(!t->metric, t->metric ? cost(*t) : 0, t->number); };
  std::sort(ranked.begin(), ranked.end(), [&](const Trial* a, const Trial* b) { return place(a) < place(b); });
  return ranked;
}

const Trial* Trials::best() const {
  const auto ranked = ranking();
  return !ranked.empty() && ranked.front()->metric ? ranked.front() : nullptr;
}

std::string in_words(const config::Value& parameters) {
  std::string text;
  for (const auto& [key, value] : parameters.items()) {
    text += (text.empty() ? "" : ", ") + key + " " + report::in_words(value);
  }
  return text;
}

}  // namespace ddp::sweep
