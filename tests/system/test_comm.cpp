#include <cmath>
#include <sstream>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace {

const Words kOps{"all_reduce", "reduce", "broadcast", "scatter", "gather", "all_gather"};

// The factor from algorithm bandwidth to bus bandwidth (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(const std::string& op, double ranks) {
  if (op == "all_reduce") return 2 * (ranks - 1) / ranks;
  return op == "reduce" || op == "broadcast" ? 1 : (ranks - 1) / ranks;
}

bool about(double value, double other) { return std::abs(value - other) <= 1e-9 * std::abs(other); }

Words comm(const Words& more) { return joined({"comm"}, more); }

// The rows of a table, each split into its columns.
std::vector<Words> rows_of(const std::string& table) {
  std::vector<Words> rows;
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream columns(line);
    rows.emplace_back();
    for (std::string column; columns >> column;) rows.back().push_back(column);
  }
  return rows;
}

// A measurement with three ranks: the first row comes soon and the second takes minutes. On construction the second row
// has begun.
struct LongMeasurement {
  explicit LongMeasurement(const Workspace& w, const std::string& backend) {
    process = w.start(comm({"--devices", "3", "--backend", backend, "--op", "broadcast", "--sizes", "4,64MiB",
                            "--iterations", "3000", "--timeout", "4"}));
    REQUIRE(wait_until([&] { return rows_of(process->out()).size() == 1; }, process->pid()));
    ranks = process->children();
    REQUIRE(ranks.size() == 3);
  }
  std::unique_ptr<Process> process;
  std::vector<pid_t> ranks;
};

}  // namespace

TEST_CASE("each collective is timed and every value checked, on two, three and four ranks, over each backend of CPUs") {
  const Workspace w;
  for (const std::string backend : {"shm", "gloo"}) {
    for (const int ranks : {2, 3, 4}) {
      const Outcome outcome = w.done(comm({"--devices", std::to_string(ranks), "--backend", backend, "--sizes",
                                           "1,1KiB,300KB", "--iterations", "2", "--warmup", "1", "--json"}));
      const Json json = Json::parse(outcome.out);
      CHECK(json.at("version") == 1);
      CHECK(json.at("world_size") == ranks);
      CHECK(json.at("backend") == backend);
      CHECK(json.at("devices") == Words(ranks, "cpu"));
      CHECK(json.at("error").is_null());
      CHECK(json.at("wrong") == 0);
      REQUIRE(json.at("rows").size() == 18);
      for (std::size_t i = 0; i < 18; ++i) {
        const Json& row = json["rows"][i];
        const std::string op = row.at("op");
        CHECK(op == kOps[i / 3]);
        const double bytes = row.at("bytes");
        const double asked = std::vector<double>{1, 1024, 300000}[i % 3];
        // Whole elements, and for divided data the same number for each rank.
        CHECK(std::abs(bytes - asked) < 4 * ranks);
        CHECK(row.at("elements") == bytes / 4);
        CHECK(row.at("wrong") == 0);
        const double bandwidth = row.at("algbw_gb_per_s");
        CHECK(row.at("time_us") > 0);
        CHECK(about(bandwidth, bytes / row.at("time_us").get<double>() / 1e3));
        CHECK(about(row.at("busbw_gb_per_s"), bandwidth * bus_factor(op, ranks)));
      }
    }
  }
}

TEST_CASE("every type of element is right in every collective", "[slow]") {
  const Workspace w;
  for (const std::string backend : {"shm", "gloo"}) {
    for (const std::string type : {"double", "half", "bfloat16", "int8", "uint8", "int32", "int64"}) {
      const Outcome outcome = w.done(comm({"--dtype", type, "--devices", "3", "--backend", backend, "--sizes", "5KiB",
                                           "--iterations", "1", "--warmup", "0"}));
      CHECK(rows_of(outcome.out).size() == 6);
      CHECK(contains(outcome.out, "every value of every rank was right"));
    }
  }
}

TEST_CASE("the table has a line for each size as in nccl-tests") {
  const Workspace w;
  const Outcome outcome =
      w.done(comm({"--op", "all_reduce,gather", "--sizes", "1KiB..4KiB", "--iterations", "3", "--devices", "cpu,cpu"}));
  CHECK(contains(outcome.out, "# 2 ranks on 1 node, backend shm, float, mean of 3 calls after 5 to warm up\n"));
  CHECK(contains(outcome.out, "# rank 1: cpu\n"));
  for (const char* column : {"size", "elements", "time", "algbw", "busbw", "wrong"}) {
    CHECK(contains(outcome.out, column));
  }
  const auto rows = rows_of(outcome.out);
  REQUIRE(rows.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    REQUIRE(rows[i].size() == 7);
    CHECK(rows[i][0] == (i < 3 ? "all_reduce" : "gather"));
    CHECK(rows[i][1] == std::to_string(1024 << i % 3));
    CHECK(rows[i][2] == std::to_string(256 << i % 3));
    CHECK(std::stod(rows[i][3]) > 0);
    CHECK(rows[i][6] == "0");
  }
}

TEST_CASE("without a check nothing is reported as right") {
  const Workspace w;
  const Outcome outcome = w.run(comm({"--no-check", "--op", "reduce", "--sizes", "8", "--iterations", "1"}));
  INFO(outcome.out);
  REQUIRE(outcome.code == 0);
  CHECK(rows_of(outcome.out).at(0).at(6) == "-");
  CHECK(contains(outcome.out, "values were not checked"));
  CHECK_FALSE(contains(outcome.out, "right"));
  const Outcome json = w.run(comm({"--no-check", "--op", "reduce", "--sizes", "8", "--iterations", "1", "--json"}));
  CHECK(Json::parse(json.out).at("wrong").is_null());
}

TEST_CASE("comm leaves no results and no other files") {
  const Workspace w;
  w.done(comm({"--op", "reduce", "--sizes", "8"}));
  for (const auto& entry : std::filesystem::directory_iterator(w.folder())) {
    CHECK(entry.path().filename().string().starts_with("."));  // files in which the test itself keeps the output
  }
}

TEST_CASE("values that a network changes are reported by rank and index and end the command with 1") {
  const Workspace w;
  for (const std::string& op : kOps) {
    const Outcome outcome = w.ends(1, comm({"--op", op, "--backend", "gloo", "--sizes", "64KiB", "--iterations", "1"}),
                                   {}, {{"LD_PRELOAD", DDP_FLIPPED_BITS}});
    CHECK(std::stoll(rows_of(outcome.out).at(0).at(6)) > 0);
    CHECK(contains(outcome.err, "error: " + op + " of 65536 B: rank "));
    CHECK(contains(outcome.err, " at index "));
    CHECK(contains(outcome.err, " instead of "));
    CHECK_FALSE(contains(outcome.out, "was right"));
  }
  const Outcome json = w.ends(1, comm({"--op", "broadcast", "--backend", "gloo", "--sizes", "64KiB", "--json"}), {},
                              {{"LD_PRELOAD", DDP_FLIPPED_BITS}});
  const Json first = Json::parse(json.out).at("rows").at(0).at("first_wrong");
  CHECK(first.at("rank") == 1);
  CHECK(first.at("got") != first.at("expected"));
}

TEST_CASE("rows are shown as soon as they are measured, and a killed rank is named with the rows so far") {
  const Workspace w;
  for (const std::string backend : {"shm", "gloo"}) {
    const LongMeasurement m(w, backend);
    const auto killed = Clock::now();
    kill(m.ranks.at(1), SIGKILL);
    const Outcome outcome = w.finish(*m.process);
    INFO(outcome.out << outcome.err);
    CHECK(seconds_since(killed) < 10);
    CHECK(outcome.code == 1);
    CHECK_FALSE(outcome.left);
    CHECK(contains(outcome.err, "error: rank 1 (cpu): killed by SIGKILL in measurement "));
    CHECK(contains(outcome.err, "measurement 2 is broadcast of 67108864 B"));
    CHECK(rows_of(outcome.out).size() == 1);
    CHECK_FALSE(contains(outcome.out, "right"));
  }
}

TEST_CASE("a stopped rank is named after the timeout", "[slow]") {
  const Workspace w;
  for (const std::string backend : {"shm", "gloo"}) {
    const LongMeasurement m(w, backend);
    const auto stopped = Clock::now();
    kill(m.ranks.at(1), SIGSTOP);
    const Outcome outcome = w.finish(*m.process);
    INFO(outcome.out << outcome.err);
    CHECK(seconds_since(stopped) < 60);  // 4 of timeout, and gdb takes time to find where the rank hangs
    CHECK(outcome.code == 1);
    CHECK_FALSE(outcome.left);
    CHECK(contains(outcome.err, "rank 1 (cpu): "));
    CHECK(contains(outcome.err, "rank 1 stays away: it is in measurement "));
    CHECK(contains(outcome.err, "its process is stopped"));
  }
}

TEST_CASE("a signal ends comm at once since it has nothing to save") {
  const Workspace w;
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    const LongMeasurement m(w, "shm");
    m.process->signal(signal);
    const Outcome outcome = w.finish(*m.process);
    INFO(outcome.err);
    CHECK(outcome.code == code);
    CHECK_FALSE(outcome.left);
    CHECK_FALSE(contains(outcome.err, "error"));
    CHECK_FALSE(contains(outcome.err, "saving"));
  }
}

TEST_CASE("an impossible measurement is refused before anything starts") {
  const Workspace w;
  const std::vector<std::pair<Words, std::string>> mistakes{
      {{"--op", "all_redcue"}, "did you mean \"all_reduce\"?"},
      {{"--op", ""}, "names no collective"},
      {{"--sizes", "12Q"}, "--sizes: \"12Q\" is not a size"},
      {{"--sizes", "0"}, "--sizes: \"0\" is not a size"},
      {{"--sizes", "4TiB"}, "--sizes: 4194304 MiB on each of 2 ranks is more than this machine's memory holds"},
      {{"--dtype", "float33"}, "--dtype: unknown element type \"float33\""},
      {{"--backend", "mpi"}, "--backend: unknown backend \"mpi\""},
      {{"--backend", "nccl"}, "nccl carries tensors between GPUs"},
      {{"--devices", "0,1"}, "needs 2 devices, this machine has 0"},
      {{"--devices", "1,1"}, "GPU 1 is named twice"},
      {{"--devices", "0"}, "--devices: \"device_pool\" must be \"auto\", a number of ranks or a list, not 0"},
      {{"--devices", "tpu"}, "--devices: \"device_pool\" must be \"auto\""},
      {{"--devices", "[[\"cpu\", \"cpu\"]]"}, "each rank has one device"},
      {{"--iterations", "0"}, "--iterations"},
      {{"--timeout", "0"}, "--timeout"},
      {{"--nnodes", "2"}, "is required with 2 nodes"},
      {{"--devices", "cpu,cpu", "--nproc-per-node", "3"}, "--nproc-per-node"},
      {{"small.toml"}, "\"small.toml\" is one word too many"},
  };
  for (const auto& [words, says] : mistakes) {
    w.refused(comm(words), {says});
  }
}

TEST_CASE("a node that does not come is named") {
  const Workspace w;
  w.ends(1,
         comm({"--nnodes", "2", "--node-rank", "0", "--master-addr", "127.0.0.1", "--master-port", "29517", "--timeout",
               "0.2"}),
         {"node 1: not there after 0.2 s"});
}

TEST_CASE("a size is rounded down to whole elements of each part, and to at least one") {
  const Workspace w;
  const Outcome json = w.done(comm({"--devices", "cpu,cpu,cpu", "--backend", "gloo", "--op", "all_reduce,scatter",
                                    "--sizes", "3,7,30", "--iterations", "1", "--warmup", "0", "--json"}));
  std::vector<std::int64_t> bytes;
  const Json result = Json::parse(json.out);
  for (const Json& row : result.at("rows")) bytes.push_back(row.at("bytes"));
  CHECK(bytes == std::vector<std::int64_t>{4, 4, 28, 12, 12, 24});
}

}  // namespace ddp::system_test
