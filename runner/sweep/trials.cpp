#include "sweep/trials.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "config/difference.h"
#include "report/text/words.h"

namespace ddp::sweep {

Trials::Trials(const config::Sweep& sweep, search::Search& search) : sweep_(sweep), search_(search) {
  for (int i = 0; i < search.trials(); ++i) all_.push_back({.number = i});
}

void Trials::check(const Event& event) const {
  const std::string of = "trial " + std::to_string(event.trial);
  if (event.trial >= static_cast<int>(all_.size())) {
    throw usage_error("the sweep has " + std::to_string(all_.size()) + " trials, and its journal tells of " + of,
                      "journal.jsonl", "give it at least as many as it had");
  }
  if (event.kind == "started" && config::first_difference(event.parameters, parameters(event.trial))) {
    throw usage_error(of + " was begun with " + in_words(event.parameters) + ", and is now to have " +
                          in_words(parameters(event.trial)),
                      "journal.jsonl", "begin another sweep, or leave [sweep] as it was");
  }
}

void Trials::take(const Event& event) {
  check(event);
  Trial& trial = all_[event.trial];
  if (event.kind == "started") {
    trial.status = Status::running;
    trial.until_epoch = event.until_epoch;
    search_.begun({.trial = event.trial, .epochs = event.until_epoch});
    return;
  }
  trial.epochs = event.epochs;
  trial.seconds = event.seconds;
  trial.metric.reset();
  if (event.metric.is_number()) trial.metric = event.metric.get<double>();
  trial.error = event.error;
  if (event.kind == "interrupted") {
    trial.status = Status::interrupted;
  } else if (event.kind == "failed") {
    trial.status = Status::failed;
    ++trial.failures;
  } else {
    trial.status = event.kind == "finished" ? Status::completed : Status::paused;
    const std::int64_t epochs = trial.status == Status::completed ? search::kToItsEnd : event.epochs;
    if (trial.metric) search_.ended(event.trial, epochs, sweep_.metric.cost(*trial.metric));
  }
}

int Trials::count(Status status) const {
  return static_cast<int>(
      std::count_if(all_.begin(), all_.end(), [&](const Trial& trial) { return trial.status == status; }));
}

std::vector<const Trial*> Trials::ranking() const {
  std::vector<const Trial*> ranked;
  for (const Trial& trial : all_) ranked.push_back(&trial);
  const auto place = [&](const Trial* t) {
    const double metric = t->metric ? sweep_.metric.cost(*t->metric) : 0;
    const bool at_end = t->status == Status::completed;
    return std::tuple(!t->metric, !at_end, at_end ? 0 : -t->epochs, metric, t->number);
  };
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
