#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

#include "catch.h"
#include "predicting.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// The peak memory, in bytes, of all processes of a command together until it ends.
std::int64_t peak_memory(Process& process) {
  std::int64_t peak = 0;
  while (!process.ended()) {
    std::int64_t sum = 0;
    for (const Member& member : process.members()) {
      std::istringstream lines(text_of("/proc/" + std::to_string(member.pid) + "/smaps_rollup"));
      for (std::string name; lines >> name;) {
        std::int64_t kilobytes = 0;
        if (name == "Pss:" && lines >> kilobytes) sum += kilobytes << 10;
      }
    }
    peak = std::max(peak, sum);
  }
  return peak;
}

// `predict` that prints many.csv into a pipe from which one byte was read: it has begun, and waits for its reader.
struct PipedPrediction {
  explicit PipedPrediction(const Workspace& workspace) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    reader = ends[0];
    process = std::make_unique<Process>(Launch{.arguments = {"predict", "shapes", "many.csv"},
                                               .folder = workspace.folder(),
                                               .environment = {},
                                               .output = ends[1]});
    close(ends[1]);
    char first = 0;
    REQUIRE(read(reader, &first, 1) == 1);
  }
  ~PipedPrediction() { close_reader(); }
  PipedPrediction(const PipedPrediction&) = delete;
  PipedPrediction& operator=(const PipedPrediction&) = delete;

  void close_reader() {
    if (reader >= 0) close(std::exchange(reader, -1));
  }

  int reader = -1;
  std::unique_ptr<Process> process;
};

}  // namespace

TEST_CASE("an output that cannot be written is refused before any input is read") {
  const Trained t;
  t.check_fails(2, {"shapes.csv", "-o", "nowhere/out.csv"}, {"nowhere/out.csv"});
  t.check_fails(2, {"shapes.csv", "-o", "out.txt"}, {"out.txt", ".csv"});
  fs::create_directory(t.folder() / "taken.csv");
  fs::create_directory(t.folder() / "taken.parquet");
  t.check_fails(2, {"shapes.csv", "-o", "taken.parquet"}, {"taken.parquet"});
  t.check_fails(2, {"shapes.csv", "-o", "taken.csv"}, {"taken.csv"});
  t.check_fails(2, {"shapes.csv", "-o", "shapes.csv"}, {"shapes.csv", "input"});
  if (geteuid() == 0) return;  // root may write everywhere
  fs::create_directory(t.folder() / "locked");
  fs::permissions(t.folder() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  t.check_fails(2, {"shapes.csv", "-o", "locked/out.csv"}, {"locked/out.csv"});
  t.check_fails(2, {"shapes.csv", "-o", "locked/out.parquet"}, {"locked/out.parquet"});
}

TEST_CASE("a stopped predict leaves nothing and exits like a program that a signal ended") {
  const Trained t;
  t.write_many(3000);
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto before = visible_files(t.folder());
    const std::string out = signal == SIGINT ? "out.parquet" : "out.csv";
    const auto process = t.start({"predict", "shapes", "many.csv", "-o", out});
    REQUIRE(wait_until([&] { return process->children().size() == 4; }, process->pid()));
    process->signal(signal);
    CHECK(process->wait() == 128 + signal);
    CHECK(process->members().empty());
    CHECK(visible_files(t.folder()) == before);
  }
}

TEST_CASE("a killed predict leaves no output") {
  const Trained t;
  t.write_many(3000);
  const auto before = visible_files(t.folder());
  const auto process = t.start({"predict", "shapes", "many.csv", "-o", "out.csv"});
  REQUIRE(wait_until([&] { return process->children().size() == 4; }, process->pid()));
  process->signal(SIGKILL);
  CHECK(process->wait() == 128 + SIGKILL);
  REQUIRE(wait_until([&] { return process->all_gone(); }));
  CHECK(visible_files(t.folder()) == before);
}

TEST_CASE("a killed process of predict is named, and nothing is left") {
  const Trained t;
  t.write_many(3000);
  for (std::size_t which : {0u, 1u, 2u, 3u}) {
    const auto before = visible_files(t.folder());
    const auto process = t.start({"predict", "shapes", "many.csv", "-o", "out.csv"});
    REQUIRE(wait_until([&] { return process->children().size() == 4; }, process->pid()));
    kill(process->children().at(which), SIGKILL);
    CHECK(process->wait() == 1);
    INFO(process->err());
    CHECK(contains(process->err(), "SIGKILL"));
    CHECK(process->members().empty());
    CHECK(visible_files(t.folder()) == before);
  }
}

TEST_CASE("a full disk ends predict with an error and leaves nothing") {
  const Trained t;
  t.write_many(300);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto files = visible_files(t.folder());
  for (const std::string out : {"out.csv", "out.npy", "out.parquet"}) {
    rlimit small = before;
    // Repeated rows become small in Parquet.
    small.rlim_cur = out.ends_with(".parquet") ? 1 << 14 : 1 << 20;
    setrlimit(RLIMIT_FSIZE, &small);
    const auto process = t.start({"predict", "shapes", "many.csv", "-o", out});
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(process->wait() == 1);
    INFO(process->err());
    CHECK(contains(process->err(), "cannot write"));
    CHECK(contains(process->err(), out));
    CHECK(visible_files(t.folder()) == files);
  }
}

TEST_CASE("predict ends silently, like other programs, when nobody reads its pipe any more") {
  const Trained t;
  t.write_many(3000);
  PipedPrediction prediction(t);
  prediction.close_reader();
  CHECK(prediction.process->wait() == 128 + SIGPIPE);
  CHECK(prediction.process->err().empty());
  CHECK(prediction.process->members().empty());
}

TEST_CASE("predict into a full pipe stops on a signal") {
  const Trained t;
  t.write_many(3000);
  for (const int signal : {SIGINT, SIGTERM}) {
    const PipedPrediction prediction(t);
    prediction.process->signal(signal);
    CHECK(prediction.process->wait() == 128 + signal);
    CHECK(prediction.process->members().empty());
  }
}

TEST_CASE("the memory of predict does not grow with its input", "[slow]") {
  const Trained t;
  const auto peak = [&](int thousands) {
    t.write_many(thousands);
    const auto process = t.start({"predict", "shapes", "many.csv", "-o", "out.csv", "--set", kPools[1]});
    const std::int64_t bytes = peak_memory(*process);
    CHECK(process->wait() == 0);
    return bytes;
  };
  const std::int64_t small = peak(300);   // 8 MB
  const std::int64_t large = peak(7500);  // 200 MB
  WARN("8 MB take " << (small >> 20) << " MB, 200 MB take " << (large >> 20) << " MB");
  CHECK(large - small < (64 << 20));
}

}  // namespace ddp::system_test
