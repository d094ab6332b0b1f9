#include "base/log.h"

#include <unistd.h>
#include <cstdlib>
#include <memory>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "base/error.h"

namespace ddp::log {
namespace {

// The level in Unix style: "warning: ", "error: ", and nothing for other lines.
class LevelWord : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    static const std::string warning = "warning: ";
    static const std::string failure = "error: ";
    if (message.level == spdlog::level::warn) out.append(warning.data(), warning.data() + warning.size());
    if (message.level == spdlog::level::err) out.append(failure.data(), failure.data() + failure.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<LevelWord>(); }
};

void set_pattern(spdlog::logger& logger, const std::string& pattern) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<LevelWord>('*').set_pattern(pattern);
  logger.set_formatter(std::move(formatter));
}

spdlog::level::level_enum level_of(Verbosity verbosity) {
  switch (verbosity) {
    case Verbosity::quiet:
      return spdlog::level::err;
    case Verbosity::normal:
      return spdlog::level::info;
    case Verbosity::verbose:
      return spdlog::level::debug;
  }
  return spdlog::level::info;
}

Verbosity chosen_verbosity = Verbosity::normal;
std::string pattern_now = "%^%*%$%v";

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    const char* no_color = std::getenv("NO_COLOR");
    const bool colored = isatty(STDERR_FILENO) && (no_color == nullptr || *no_color == '\0');
    auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(colored ? spdlog::color_mode::always
                                                                                  : spdlog::color_mode::never);
    sink->set_level(level_of(chosen_verbosity));
    auto made = std::make_shared<spdlog::logger>("ddp-exp", sink);
    set_pattern(*made, pattern_now);
    made->set_level(spdlog::level::debug);
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_verbosity(Verbosity verbosity) {
  chosen_verbosity = verbosity;
  logger().sinks().front()->set_level(level_of(verbosity));
}

Verbosity verbosity() { return chosen_verbosity; }

void detail(const std::string& line) { logger().debug(line); }
void info(const std::string& line) { logger().info(line); }
void warn(const std::string& line) { logger().warn(line); }
void error(const std::string& line) { logger().error(line); }

void also_to(const std::string& file) try {
  logger().sinks().push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(file));
  set_pattern(logger(), pattern_now);
} catch (const spdlog::spdlog_ex& error) {
  throw training_error(std::string("cannot write the log: ") + error.what(), file);
}

void become_rank(int rank, bool own_log) {
  pattern_now = "%H:%M:%S.%e rank " + std::to_string(rank) + " | %*%v";
  set_pattern(logger(), pattern_now);
  if (own_log) logger().sinks().front()->set_level(spdlog::level::debug);
}

}  // namespace ddp::log
