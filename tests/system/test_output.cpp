#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <regex>

#include "catch.h"
#include "looking.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

const std::regex kEpochLine("Epoch [0-9]+ done \\| train_loss [0-9.e-]+ \\| [0-9]+ samples/s");
const std::string kSweepFile = kSmall + "[sweep.parameters]\n\"optimizer.lr\" = [0.01, 0.001]\n";

bool all_are_epoch_lines(const std::string& text) {
  const auto lines = lines_of(text);
  return std::all_of(lines.begin(), lines.end(),
                     [](const std::string& line) { return std::regex_match(line, kEpochLine); });
}

// A pipe; a test may close either end.
struct TestPipe {
  TestPipe() { REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0); }
  ~TestPipe() {
    for (const int end : ends) close(end);
  }
  std::array<int, 2> ends{-1, -1};
};

// Starts the program with that descriptor as its stdout; -1: without a stdout. `errors`: its stderr; -1: a file.
pid_t start_with_stdout(const Workspace& w, int descriptor, Words arguments, int errors = -1) {
  const std::string program = DDP_EXP;
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  if (errors < 0) errors = open((w.folder() / "errors").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(errors, STDERR_FILENO);
  if (descriptor < 0) {
    close(STDOUT_FILENO);
  } else {
    dup2(descriptor, STDOUT_FILENO);
  }
  if (chdir(w.folder().c_str()) == 0) execv(program.c_str(), words.data());
  _exit(127);
}

int code_of(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

RunFolder run_one(const Workspace& w) { return RunFolder(w.results() / "small" / "one"); }

const Words kRunOne{"run", "small.toml", "--run-id", "one"};

}  // namespace

TEST_CASE("a run, a resume and a sweep print only their folder on stdout, once, while they train") {
  const Workspace w("small.toml", kSmall);
  w.write("s.toml", kSweepFile);
  for (const auto& arguments : {Words{"run", "small.toml"}, Words{"resume", "small"}, Words{"sweep", "s.toml"}}) {
    Words endless = arguments;
    for (const char* word : {"--set", "epochs=1000000"}) {
      if (arguments.front() != "resume") endless.push_back(word);
    }
    const auto process = w.start(endless);
    INFO(arguments.front());
    REQUIRE(wait_until([&] { return process->out().ends_with("\n"); }, process->pid()));
    CHECK_FALSE(process->ended());
    const std::string folder = process->out().substr(0, process->out().size() - 1);
    CHECK(
        std::filesystem::exists(w.folder() / folder / (arguments.front() == "sweep" ? "sweep.toml" : "summary.json")));
    const Outcome stopped = w.stop(*process);
    CHECK(stopped.out == folder + "\n");
  }
}

TEST_CASE("stderr has one line per epoch for all ranks together, and each rank's line is in its log") {
  const Workspace w("small.toml", kSmall + "[checkpoint]\nsave_every = 1\n");
  const Outcome run = w.done({"run", "small.toml"});
  CHECK(lines_of(run.err).size() == 4);
  CHECK(all_are_epoch_lines(run.err));
  for (int rank : {0, 1}) {
    const std::string line = "[CPU" + std::to_string(rank) + "] Epoch 3 | Batchsize: 8 | Steps: 7\n";
    CHECK(contains(run.run.log(rank), line));
  }
  CHECK(contains(run.run.log(0), "Epoch 3 | Training checkpoint saved at " + run.out.substr(0, run.out.size() - 1)));
}

TEST_CASE("with --verbose stderr also has the line of each rank and of each checkpoint, for any number of ranks") {
  const Workspace w("small.toml", kSmall);
  const Outcome run = w.done({"run", "small.toml", "-v", "--set", "device_pool=9", "--set", "epochs=1"});
  for (int rank = 0; rank < 9; ++rank) {
    CHECK(contains(run.err, "[CPU" + std::to_string(rank) + "] Epoch 0 | Batchsize: 8 | Steps: 2\n"));
  }
  CHECK(contains(run.err, "Epoch 0 | Training checkpoint saved at "));
  CHECK(contains(w.run({"resume", "small", "--verbose", "--set", "epochs=2"}).err, "[CPU8] Epoch 1 |"));
}

TEST_CASE("with --quiet stderr has only errors, and stdout still has the folder") {
  const Workspace w("small.toml", kSmall);
  w.write("s.toml", kSweepFile);
  for (const auto& arguments :
       std::vector<Words>{{"run", "small.toml", "--quiet", "--set", "batch_size=999"},  // with a warning
                          {"resume", "small", "-q", "--set", "epochs=6"},
                          {"sweep", "s.toml", "-q"}}) {
    const Outcome quiet = w.done(arguments);
    CHECK(quiet.err.empty());
    CHECK(lines_of(quiet.out).size() == 1);
  }
  const Outcome failed = w.ends(1, {"run", "small.toml", "-q", "--set", "optimizer.lr=1e38"});
  CHECK(failed.err.starts_with("error: "));
  CHECK(contains(failed.err, "is not finite"));
  CHECK(contains(failed.run.log(0), "[CPU0] Epoch 0 |"));
  w.refused({"run", "small.toml", "-q", "-v"}, {});
}

TEST_CASE("a sweep prints its ranking on stderr and only its folder on stdout") {
  const Workspace w("s.toml", kSweepFile);
  const Outcome sweep = w.done({"sweep", "s.toml", "--run-id", "one"});
  CHECK(sweep.out == "results/s/one\n");
  CHECK(contains(sweep.err, sweep.run.summary().at("repeat").get<std::string>()));
  CHECK(contains(sweep.err, "report.html"));
  CHECK_FALSE(contains(sweep.err, "Epoch"));
}

TEST_CASE("a run with a full or closed stdout trains to its end and reports it at the end") {
  {
    const Workspace w("small.toml", kSmall);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    REQUIRE(full >= 0);
    CHECK(code_of(start_with_stdout(w, full, kRunOne)) == 1);
    close(full);
    CHECK(run_one(w).summary().at("status") == "completed");
    CHECK(contains(text_of(w.folder() / "errors"), "some output is lost"));
  }
  {
    const Workspace w("small.toml", kSmall);
    TestPipe pipe;
    close(std::exchange(pipe.ends[0], -1));
    CHECK(code_of(start_with_stdout(w, pipe.ends[1], kRunOne)) == 1);
    CHECK(run_one(w).summary().at("status") == "completed");
    CHECK(contains(text_of(w.folder() / "errors"), "some output is lost"));
  }
  {
    const Workspace w("small.toml", kSmall);
    CHECK(code_of(start_with_stdout(w, -1, kRunOne)) == 0);
    CHECK(run_one(w).summary().at("status") == "completed");
    CHECK_FALSE(contains(run_one(w).log(0), "results/small/one\n"));
  }
}

TEST_CASE("a run and a sweep whose stderr has no reader, or one who does not read, train to their end") {
  for (const bool is_read : {false, true}) {
    const Workspace w("small.toml", kSmall);
    w.write("s.toml", kSweepFile);
    TestPipe pipe;
    const int size = fcntl(pipe.ends[1], F_SETPIPE_SZ, 4096);
    const std::string filling(static_cast<std::size_t>(size), '.');
    REQUIRE(write(pipe.ends[1], filling.data(), filling.size()) == size);
    if (!is_read) close(std::exchange(pipe.ends[0], -1));
    const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CHECK(code_of(start_with_stdout(w, out, {"run", "small.toml", "--run-id", "one", "-v"}, pipe.ends[1])) == 0);
    CHECK(run_one(w).summary().at("status") == "completed");
    CHECK(code_of(start_with_stdout(w, out, {"sweep", "s.toml", "--run-id", "two"}, pipe.ends[1])) == 0);
    CHECK(RunFolder(w.results() / "s" / "two").summary().at("status") == "completed");
    close(out);
  }
}

TEST_CASE("a run whose stdout is a full pipe trains, and prints the folder when somebody reads it") {
  const Workspace w("small.toml", kSmall);
  TestPipe pipe;
  const int size = fcntl(pipe.ends[1], F_SETPIPE_SZ, 4096);
  REQUIRE(size > 0);
  const std::string filling(static_cast<std::size_t>(size), '.');
  REQUIRE(write(pipe.ends[1], filling.data(), filling.size()) == size);
  const pid_t child = start_with_stdout(w, pipe.ends[1], kRunOne);
  close(std::exchange(pipe.ends[1], -1));
  const auto completed = [&] {
    return std::filesystem::exists(run_one(w).path() / "summary.json") &&
           run_one(w).summary().at("status") == "completed";
  };
  CHECK(wait_until(completed));
  std::string read_text;
  std::array<char, 4096> piece{};
  for (ssize_t taken; (taken = read(pipe.ends[0], piece.data(), piece.size())) > 0;) {
    read_text.append(piece.data(), static_cast<std::size_t>(taken));
  }
  CHECK(read_text == filling + "results/small/one\n");
  CHECK(code_of(child) == 0);
}

}  // namespace ddp::system_test
