#include "sweep/screen.h"

#include <algorithm>

#include "base/log.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::sweep {
namespace {

constexpr std::size_t kMostRunning = 8;

}  // namespace

Screen::Screen(const config::LoadedSweep& sweep, const Trials& trials, const TrialProgress* progress)
    : sweep_(sweep), trials_(trials), progress_(progress), terminal_(launch::wants_live_line()) {}

void Screen::begin(int trial, std::size_t place) {
  running_.emplace_back(trial, place);
  if (log::verbosity() != log::Verbosity::verbose) return;
  print(named(trial) + " (" + in_words(trials_.parameters(trial)) + ") starts");
}

void Screen::print_end(const Trial& t) {
  std::erase_if(running_, [&](const auto& entry) { return entry.first == t.number; });
  ++ended_;
  const std::string what = named(t.number) + " (" + in_words(trials_.parameters(t.number)) + ")";
  if (t.status == Status::failed) {
    drawing_.clear();
    log::error(what + " failed: " + t.error);
    return refresh();
  }
  if (terminal_ && log::verbosity() != log::Verbosity::verbose) return;
  const std::string how = t.status == Status::completed ? "done"
                          : t.status == Status::paused  ? "is at rung " + std::to_string(trials_.rung(t).value_or(1))
                                                        : "saved";
  print(what + " " + how + (t.metric ? ": " + sweep_.sweep.metric.name + " " + report::in_words(*t.metric) : ""));
}

std::string Screen::counts() const {
  const int total = static_cast<int>(trials_.all().size());
  const int done = trials_.count(Status::completed) + trials_.count(Status::paused);
  const int failed = trials_.count(Status::failed);
  std::string text = sweep_.is_race() ? "race of at most " + std::to_string(total / 2) + " pairs: "
                                      : std::to_string(total) + (sweep_.is_sweep() ? " trials: " : " runs: ");
  text += std::to_string(done) + (sweep_.is_race() ? " runs done, " : " done, ") + std::to_string(running_.size()) +
          " running, " + std::to_string(failed) + " failed";
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  text += " | " + report::duration(seconds);
  // Running trials count as half done, on average.
  const double left = static_cast<double>(total - done - failed) - static_cast<double>(running_.size()) / 2;
  const double did = ended_ + static_cast<double>(running_.size()) / 2;
  if (ended_ > 0)
    text += (sweep_.is_race() ? " | at most " : " | about ") + report::duration(seconds / did * left) + " left";
  return text;
}

std::string Screen::running(int trial, std::size_t place) const {
  const TrialProgress& p = progress_[place];
  std::string text = named(trial);
  if (p.steps > 0) {
    text += "  step " + std::to_string(p.step) + "/" + std::to_string(p.steps) + "  loss " +
            report::in_words(p.loss.load());
  }
  return text + "  " + in_words(trials_.parameters(trial));
}

std::vector<std::string> Screen::lines() const {
  std::vector<std::string> lines{counts()};
  const Trial* best = sweep_.is_sweep() ? trials_.best() : nullptr;
  if (best != nullptr) {
    lines.push_back("best: trial " + std::to_string(best->number) + "  " + sweep_.sweep.metric.name + " " +
                    report::in_words(*best->metric) + "  " + in_words(trials_.parameters(best->number)));
  }
  for (std::size_t i = 0; i < std::min(kMostRunning, running_.size()); ++i) {
    lines.push_back("  " + running(running_[i].first, running_[i].second));
  }
  if (running_.size() > kMostRunning)
    lines.push_back("  and " + std::to_string(running_.size() - kMostRunning) + " more");
  return lines;
}

void Screen::refresh() {
  if (!terminal_) return;
  const std::size_t width = report::terminal_of_stderr().width;
  std::vector<std::string> shown = lines();
  for (std::string& line : shown) line = report::clipped(line, width - 1, "");
  drawing_.draw(std::move(shown));
}

void Screen::print(const std::string& line) {
  drawing_.clear();
  log::info(line);
  refresh();
}

}  // namespace ddp::sweep
