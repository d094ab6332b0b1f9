#include "sweep/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "base/error.h"
#include "config/option/fields.h"
#include "config/text/json_text.h"
#include "record/file/atomic_file.h"
#include "record/summary.h"

namespace ddp::sweep {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMostBytes = 1u << 30;
using config::Fields;
using config::Value;

const config::Option kTime{.name = "time", .pattern = record::kTimestampPattern, .may_be_missing = true};
const config::Option kParameters{
    .name = "parameters",
    .doc = "the value of each key of [sweep.parameters]; {} while they depend on results of other trials",
    .types = {config::Type::table}};

const config::Option kTrial{.name = "trial", .range = config::between(0, 1'000'000)};

// The kinds of lines.
struct Begun {
  std::string method = {};
  int trials = 0;

  void fields(Fields& f) {
    f({.name = "event", .choices = {"sweep"}}, "sweep");
    f.version();
    f({.name = "method", .choices = kMethods}, method);
    f({"trials"}, trials);
    f(kTime, record::timestamp(std::time(nullptr)));
  }
};

struct Started {
  Event e = {};

  void fields(Fields& f) {
    f({.name = "event", .choices = {"started"}}, e.kind);
    f(kTrial, e.trial);
    f({"until_epoch"}, e.until_epoch);
    f(kParameters, e.parameters);
    f(kTime, record::timestamp(std::time(nullptr)));
  }
};

struct Ended {
  Event e = {};

  void fields(Fields& f) {
    f({.name = "event", .choices = {"finished", "paused", "failed", "interrupted"}}, e.kind);
    f(kTrial, e.trial);
    f({"epochs"}, e.epochs);
    f({"metric"}, e.metric);
    f({.name = "seconds", .range = config::at_least(0)}, e.seconds);
    std::optional<std::string> error = e.kind == "failed" && !f.reads() ? std::optional(e.error) : std::nullopt;
    f({.name = "error", .doc = "of a failed trial", .optional = true}, error);
    if (f.reads() && e.kind == "failed") {
      if (!error) throw usage_error("\"error\" is missing");
      e.error = *error;
    }
    f({.name = "stopped_by", .doc = "the rule of [stop] that ended the trial", .optional = true}, e.stopped_by);
    f.flag({"not_finite", "failed because the metric is no finite number"}, e.not_finite);
    f(kTime, record::timestamp(std::time(nullptr)));
  }
};

// The member that each line has.
struct Kind {
  std::string event = {};
  void fields(Fields& f) { f({"event"}, event); }
};

// The size of the complete lines.
std::size_t whole_lines(std::string_view text) { return text.rfind('\n') + 1; }

// Jobs of a Slurm array write one journal from several machines, and not every file system appends atomically.
class JournalLock {
 public:
  explicit JournalLock(int file) : file_(file) {
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~JournalLock() { flock(file_, LOCK_UN); }
  JournalLock(const JournalLock&) = delete;
  JournalLock& operator=(const JournalLock&) = delete;

 private:
  const int file_;
};

}  // namespace

std::vector<Event> parse_journal(std::string_view text) {
  std::vector<Event> events;
  text = text.substr(0, whole_lines(text));
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    try {
      const Value line = config::parse_value(text.substr(0, end));
      const std::string kind = config::read_written<Kind>(line).event;
      if (kind == "started") events.push_back(config::read_written<Started>(line).e);
      if (kind != "started" && kind != "sweep") events.push_back(config::read_written<Ended>(line).e);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
    text.remove_prefix(end + 1);
  }
  return events;
}

Journal::Journal(const fs::path& file)
    : name_(file.string()), file_(open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (!file_) throw training_error("cannot open: " + errno_text(errno), name_);
  const JournalLock lock(file_.get());
  const std::string text = record::read_text(file, kMostBytes);
  if (const std::size_t whole = whole_lines(text);
      whole < text.size() && ftruncate(file_.get(), static_cast<off_t>(whole)) != 0) {
    throw training_error("cannot write: " + errno_text(errno), name_);
  }
}

void Journal::alone(const std::function<void()>& body) const {
  const JournalLock lock(file_.get());
  body();
}

void Journal::append(const config::Value& line) {
  const JournalLock lock(file_.get());
  const std::string text = line.dump(-1, ' ', false, config::Value::error_handler_t::replace) + "\n";
  write_all(file_.get(), text.data(), text.size(), name_);
}

Value journal_schema() {
  return config::output_schema<std::variant<Begun, Started, Ended>>("one line of a sweep's journal.jsonl");
}

void Journal::begin(const std::string& method, int trials) {
  append(config::written(Begun{.method = method, .trials = trials}));
}

void Journal::add(const Event& e) {
  append(e.kind == "started" ? config::written(Started{e}) : config::written(Ended{e}));
}

std::vector<Event> read_journal(const fs::path& file) {
  std::error_code none;
  if (!fs::exists(file, none)) return {};
  try {
    return parse_journal(record::read_text(file, kMostBytes));
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw usage_error(error.what(), file.string(),
                      "the journal of this sweep is damaged: repair or remove that line, then resume");
  }
}

}  // namespace ddp::sweep
