// list, show, compare and diff on terminals, over sweeps, and over odd folders.
#include <pty.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <fstream>

#include "looking.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// The columns of a text whose characters are all one wide.
std::size_t columns(const std::string& line) {
  return std::count_if(line.begin(), line.end(), [](char byte) { return (byte & 0xc0) != 0x80; });
}

// The output of the program on a terminal of that width.
std::string on_terminal(const Workspace& w, Words arguments, unsigned short width, const char* no_colour = "1") {
  arguments.insert(arguments.begin(), DDP_EXP);
  winsize size{.ws_row = 50, .ws_col = width, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(child >= 0);
  if (child == 0) {
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("NO_COLOR", no_colour, 1);
    setenv("TERM", "xterm", 1);
    if (chdir(w.folder().c_str()) == 0) execv(DDP_EXP, argv.data());
    _exit(127);
  }
  std::string text;
  char block[4096];
  for (ssize_t n = 0; (n = read(terminal, block, sizeof block)) > 0;) text.append(block, static_cast<std::size_t>(n));
  close(terminal);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
  return text;
}

}  // namespace

TEST_CASE("tables are at most as wide as the terminal and coloured only if colours are allowed") {
  const Runs r;
  for (const unsigned short width : {40, 80, 200}) {
    INFO(width);
    for (const auto& arguments : std::vector<Words>{{"list"}, {"compare", "tiny/1", "tiny/2", "burst"}}) {
      const std::string text = on_terminal(r.w, arguments, width);
      CHECK(contains(text, "tiny/1"));
      CHECK_FALSE(contains(text, "\x1b["));
      for (const std::string& line : lines_of(text)) CHECK(columns(line) <= width);
    }
  }
  CHECK(contains(on_terminal(r.w, {"list"}, 80, ""), "\x1b[31mfailed"));
}

TEST_CASE("a sweep is one row, its trials are listed by its name, and list distinguishes it from a run") {
  const Runs r;
  const fs::path sweep = r.w.results() / "search/7";
  fs::create_directories(sweep / "trials");
  fs::rename(r.w.results() / "tiny/1", sweep / "trials/000");
  fs::rename(r.w.results() / "tiny/2", sweep / "trials/001");
  r.w.write("results/search/7/sweep.toml", kTiny);
  r.w.write("results/search/7/summary.json", R"({"version":1, "kind":"sweep", "status":"completed", "name":"search",
    "started":"2026-11-21T21:04:05Z", "seconds":2, "method":"grid", "metric":"train_loss", "goal":"min",
    "parameters":["optimizer.lr"], "trials":3, "completed":2, "failed":0, "waiting":1, "best":1, "ranking":[
    {"trial":1, "place":1, "status":"completed", "metric":0.25, "epochs":3, "seconds":1, "parameters":{"optimizer.lr":0.1}},
    {"trial":0, "place":2, "status":"completed", "metric":0.5, "epochs":3, "seconds":1, "parameters":{"optimizer.lr":0.001}}],
    "repeat":"ddp-exp run results/search/7/trials/001/config.toml"})");
  fs::create_symlink("7", r.w.results() / "search/latest");
  const Json row = r.look_json({"list", "--name", "search"})["runs"][0];
  CHECK(row["kind"] == "sweep");
  CHECK(row["best"]["trial"] == 1);
  CHECK(contains(r.look({"list"}), "sweep 2/3"));
  CHECK(r.look_json({"list", "search"})["runs"].size() == 2);
  CHECK(contains(r.look({"list", "search/7"}), "\nsearch/7/001  completed"));
  const std::string shown = r.look({"show", "search"});
  INFO(shown);
  CHECK(contains(shown, "place  trial         train_loss  optimizer.lr"));
  CHECK(contains(shown, "    1  search/7/001        0.25           0.1"));
  CHECK(contains(r.look({"show", "search/7/trials/001"}), "status      completed"));
  CHECK(contains(r.look({"compare", "search"}), "A  search/7/trials/001  completed\nB  search/7/trials/000"));
  r.w.refused({"diff", "search", "burst"}, {"this is a sweep, not a run"});
}

TEST_CASE("list reports unreadable folders with one line each and lists the rest") {
  const Runs r;
  const fs::path results = r.w.results();
  fs::create_directory(results / "odd");
  const auto damage = [&](const std::string& name, const auto& how) {
    fs::copy(results / "tiny/1", results / name, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    how(results / name);
  };
  damage("odd/damaged", [](const fs::path& run) { std::ofstream(run / "summary.json") << "{\"status\":\x1b[31m"; });
  damage("odd/pipe", [](const fs::path& run) {
    fs::remove(run / "summary.json");
    REQUIRE(mkfifo((run / "summary.json").c_str(), 0600) == 0);
  });
  damage("odd/huge", [](const fs::path& run) { fs::resize_file(run / "summary.json", std::uintmax_t{1} << 40); });
  damage("odd/no-metrics", [](const fs::path& run) { fs::remove(run / "metrics.jsonl"); });
  damage("odd/metrics-pipe", [](const fs::path& run) {
    fs::remove(run / "metrics.jsonl");
    REQUIRE(mkfifo((run / "metrics.jsonl").c_str(), 0600) == 0);
  });
  damage("odd/huge-metrics",
         [](const fs::path& run) { fs::resize_file(run / "metrics.jsonl", std::uintmax_t{1} << 40); });
  damage("odd/config", [](const fs::path& run) { std::ofstream(run / "config.toml") << "= ="; });
  damage("odd/no-checkpoints", [](const fs::path& run) {
    fs::remove_all(run / "checkpoints");
    fs::remove_all(run / "logs");
  });
  fs::create_symlink("gone", results / "odd/latest");
  r.w.write("results/file", "");
  if (geteuid() != 0) {
    fs::create_directories(results / "closed");
    fs::permissions(results / "closed", fs::perms::none);
  }
  const std::size_t damaged = geteuid() != 0 ? 4 : 3;
  const Outcome listed = r.w.done({"list"}, {}, kUtf8);
  CHECK(lines_of(listed.out).size() == 1 + 3 + 5);
  CHECK(lines_of(listed.err).size() == damaged);
  CHECK_FALSE(contains(listed.err, "\x1b"));
  if (geteuid() != 0) fs::permissions(results / "closed", fs::perms::all);
  // A run that the user names is reported.
  for (const char* name : {"odd/damaged", "odd/pipe", "odd/huge"}) {
    const Outcome shown = r.w.refused({"show", name}, {});
    CHECK(lines_of(shown.err).size() == 1);
  }
  for (const char* name :
       {"odd/no-metrics", "odd/metrics-pipe", "odd/huge-metrics", "odd/config", "odd/no-checkpoints"}) {
    INFO(name);
    CHECK(contains(r.look({"show", name}), "status      completed\n"));
    CHECK(r.w.run({"compare", name, "tiny/2"}).code == (contains(name, "config") ? 2 : 0));
  }
}

TEST_CASE("running and killed runs are listed with their progress") {
  const Workspace w("long.toml", kTiny + "[checkpoint]\nsave_every = 1000\n");
  const auto process = w.start({"run", "long.toml", "--set", "epochs=100000", "--run-id", "1"});
  w.running(*process, "long", 20);  // 8 steps per epoch
  const auto listed = [&] { return Json::parse(w.run({"list", "--json"}).out)["runs"][0]; };
  const Json running = listed();
  CHECK(running["status"] == "running");
  process->kill();
  const Json killed = listed();
  CHECK(killed["status"] == "interrupted");
  for (const Json& run : {running, killed}) {
    CHECK(run["steps"] >= 20);
    // The line of an epoch comes after the line of its last step.
    CHECK(run["epochs"] >= (run["steps"].get<int>() - 1) / 8);
    CHECK(run["epochs"] <= run["steps"].get<int>() / 8);
    CHECK(run["seconds"] > 0);
    CHECK(run["final"]["train_loss"] > 0);
  }
  CHECK(killed["steps"] == RunFolder(w.results() / "long/1").last_step());
  CHECK(RunFolder(w.results() / "long/1").summary()["status"] == "running");
}

TEST_CASE("ten thousand runs are listed from their summaries alone", "[slow]") {
  const Workspace w;
  constexpr int kRuns = 10000;
  w.write("tiny.toml", kTiny);
  const Outcome one = w.done({"run", "tiny.toml", "--name", "one"});
  const std::string summary = text_of(one.run.path() / "summary.json");
  const fs::path many = w.folder() / "many";
  for (int i = 0; i < kRuns; ++i) {
    const fs::path run = many / ("name" + std::to_string(i % 10)) / ("run" + std::to_string(i));
    fs::create_directories(run);
    std::ofstream(run / "config.toml") << "= damaged, which is no harm to one who does not read it\n";
    std::ofstream(run / "summary.json") << summary;
  }
  rusage before{};
  getrusage(RUSAGE_CHILDREN, &before);
  const Outcome listed = w.run({"list", "--results", "many"});
  rusage after{};
  getrusage(RUSAGE_CHILDREN, &after);
  CHECK(listed.code == 0);
  CHECK(listed.err.empty());
  CHECK(lines_of(listed.out).size() == kRuns + 1);
  // scripts/bench list measures the time; this test only sees that it grows linearly with the number of runs.
  const auto seconds = [](const rusage& usage) {
    return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  };
  CHECK(seconds(after) - seconds(before) < 10);
}

}  // namespace ddp::system_test
