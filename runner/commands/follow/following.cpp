#include "commands/follow/following.h"

#include <ctime>
#include <string>

#include "base/log.h"
#include "commands/options.h"
#include "report/text/words.h"

namespace ddp::commands {

Followed::Followed(const record::RunDirectory& run, const std::filesystem::path& results)
    : run_(run), results_(results), row_(read_result(run.path(), results)) {}

void Followed::read() { row_ = read_result(run_.path(), results_); }

bool Followed::wait_for_end(const std::function<bool()>& look) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 200'000'000};
  while (alive()) {
    if (!look()) return false;
    nanosleep(&kPause, nullptr);
    read();
  }
  return true;
}

void Followed::tell_end() const {
  std::string line = row_.run + " has ended: ";
  if (const report::SweepView* sweep = row_.as_sweep()) {
    line += sweep->status + ", " + std::to_string(sweep->completed + sweep->stopped) + " of " +
            report::counted(sweep->trials, "trial") + " done";
  } else {
    line += status_in_words(*row_.as_run()) + " after step " + std::to_string(row_.as_run()->steps);
  }
  log::info(line);
}

}  // namespace ddp::commands
