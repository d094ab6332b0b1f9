#include <cstdarg>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "commands/comm/comm_options.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "config/option/fields.h"
#include "launch/cluster/guest.h"
#include "launch/plan/plan.h"
#include "rank/verbs.h"
#include "report/text/words.h"
#include "runs/asking.h"
#include "runs/prepare.h"

namespace ddp::commands {
namespace {

using config::Value;

__attribute__((format(printf, 1, 2))) std::string format(const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

// In 10^9 bytes per second.
double algorithm_bandwidth(const rank::CommRow& row) {
  return row.microseconds > 0 ? static_cast<double>(row.bytes) / row.microseconds / 1e3 : 0;
}

double bus_bandwidth(const rank::CommRow& row) { return algorithm_bandwidth(row) * row.bus_factor; }

// The first wrong value of a row.
struct FirstWrong {
  rank::CommRow row;

  void fields(config::Fields& f) {
    f({"rank"}, row.rank);
    f({"index"}, row.index);
    f({"expected"}, Value(row.expected));
    f({"got"}, Value(row.got));
  }
};

// A row, as it is printed.
struct MeasuredCall {
  rank::CommRow row;
  bool checked = false;

  void fields(config::Fields& f) {
    f({"op"}, row.op);
    f({"bytes"}, row.bytes);
    f({"elements"}, row.elements);
    f({"time_us"}, row.microseconds);
    f({"algbw_gb_per_s"}, algorithm_bandwidth(row));
    f({"busbw_gb_per_s"}, bus_bandwidth(row));
    f({"wrong", "wrong values; null: not checked"}, checked ? std::optional(row.wrong) : std::nullopt);
    f({.name = "first_wrong", .optional = true}, row.wrong > 0 ? std::optional(FirstWrong{row}) : std::nullopt);
  }
};

// The printed JSON object.
struct CommOutput {
  std::int64_t world_size = 0;
  std::int64_t nodes = 0;
  std::string backend = {}, dtype = {};
  std::int64_t iterations = 0;
  std::int64_t warmup = 0;
  std::vector<std::string> devices = {};
  std::vector<MeasuredCall> rows = {};
  std::optional<std::int64_t> wrong = {};
  std::string error = {};

  void fields(config::Fields& f) {
    f.version();
    f({"world_size"}, world_size);
    f({"nodes"}, nodes);
    f({"backend"}, backend);
    f({"dtype"}, dtype);
    f({"iterations"}, iterations);
    f({"warmup"}, warmup);
    f({"devices"}, devices);
    f({"rows"}, rows);
    f({"wrong"}, wrong);
    f({.name = "error", .may_be_null = true}, error);
  }
};

// Describes the first wrong value of a row.
std::string wrong_in_words(const rank::CommRow& row) {
  return row.op + " of " + std::to_string(row.bytes) + " B: rank " + std::to_string(row.rank) + " has " +
         format("%.17g", row.got) + " at index " + std::to_string(row.index) + " instead of " +
         format("%.17g", row.expected) + "; wrong values of all ranks: " + std::to_string(row.wrong);
}

// The output of `comm` on stdout: a table with each row as soon as it is measured, or one JSON object at the end.
// Bandwidths are in 10^9 bytes per second, as in nccl-tests.
class CommTable {
 public:
  // `devices`: the known devices of all ranks. A table prints its head at once.
  CommTable(const launch::Plan& plan, int nodes, std::vector<std::string> devices, const rank::CommRequest& request,
            bool json)
      : json_(json),
        check_(request.check),
        out_{.world_size = plan.world_size(),
             .nodes = nodes,
             .backend = plan.experiment.distributed.backend,
             .dtype = request.dtype,
             .iterations = request.iterations,
             .warmup = request.warmup,
             .devices = std::move(devices)} {
    if (!json_) begin();
  }

  // Prints a row, and at once any wrong value in it.
  void add(const rank::CommRow& row) {
    wrong_ += row.wrong;
    if (json_) {
      out_.rows.push_back({.row = row, .checked = check_});
    } else {
      std::cout << format("%-10s %12lld %12lld %12.2f %10.3f %10.3f %8s\n", row.op.c_str(),
                          static_cast<long long>(row.bytes), static_cast<long long>(row.elements), row.microseconds,
                          algorithm_bandwidth(row), bus_bandwidth(row),
                          check_ ? std::to_string(row.wrong).c_str() : "-")
                << std::flush;
    }
    if (row.wrong > 0) log::error(wrong_in_words(row));
  }

  // `failure`: the reason if rows are missing, else empty. Returns the exit code: 0, or 1 if values were wrong.
  int finish(const std::string& failure) {
    if (json_) {
      if (check_) out_.wrong = wrong_;
      out_.error = failure;
      report::print_json(config::written(out_), std::cout);
    } else if (failure.empty()) {
      std::cout << (!check_       ? "# values were not checked"
                    : wrong_ == 0 ? "# every value of every rank was right"
                                  : "# wrong values: " + std::to_string(wrong_))
                << std::endl;
    }
    return wrong_ > 0 ? 1 : 0;
  }

 private:
  void begin() const {
    using report::counted;
    std::cout << "# " << counted(out_.world_size, "rank") << " on " << counted(out_.nodes, "node") << ", backend "
              << out_.backend << ", " << out_.dtype << ", mean of " << counted(out_.iterations, "call") << " after "
              << out_.warmup << " to warm up\n";
    int rank = 0;
    for (const std::string& device : out_.devices) std::cout << "# rank " << rank++ << ": " << device << "\n";
    constexpr const char* kHead = "%-10s %12s %12s %12s %10s %10s %8s\n";
    std::cout << format(kHead, "# op", "size", "elements", "time", "algbw", "busbw", "wrong")
              << format(kHead, "#", "(B)", "", "(us)", "(GB/s)", "(GB/s)", "") << std::flush;
  }

  const bool json_;
  const bool check_;
  CommOutput out_;
  std::int64_t wrong_ = 0;
};

// The settings that node 0 has resolved, for the other nodes.
struct CommWork {
  Value device_pool = {};
  std::string backend = {};

  void fields(config::Fields& f) {
    f({.name = "device_pool", .types = {config::Type::text, config::Type::integer, config::Type::list}}, device_pool);
    f({"backend"}, backend);
  }
};

// The planned ranks and the library that they need.
struct PreparedComm {
  launch::Plan plan;
  launch::RankLibrary library;
};

PreparedComm prepare_comm(const config::Loaded& loaded, const rank::CommRequest& request,
                          const launch::Launch& launch) {
  launch::Plan plan = launch::make_plan(loaded, launch::visible_gpus(), launch);
  require_memory(plan, request);
  const bool gpus = plan.uses_gpus();
  return {.plan = std::move(plan), .library = launch::RankLibrary(gpus)};
}

// On node 0, or on the only node.
int comm_here(const CommFlags& flags, const config::Loaded& loaded, const rank::CommRequest& request,
              const launch::Launch& launch, launch::Nodes& nodes) {
  const PreparedComm p = prepare_comm(loaded, request, launch);
  const auto& e = p.plan.experiment;
  nodes.welcome(config::written(CommWork{.device_pool = e.device_pool, .backend = e.distributed.backend}));
  std::vector<std::string> devices = p.plan.device_names();
  for (const auto& device : nodes.devices()) devices.push_back(device);
  CommTable table(p.plan, launch.nodes, devices, request, flags.json);
  const auto measured = runs::measure({.plan = p.plan,
                                       .library = p.library,
                                       .request = request,
                                       .take_row = [&](const rank::CommRow& row) { table.add(row); }},
                                      nodes);
  if (measured.exit_code == 1) log::error(measured.why);
  const int code = std::max(table.finish(measured.why), measured.exit_code);
  nodes.end(code, code != 1 ? "" : measured.why.empty() ? "values were wrong" : measured.why);
  return code;
}

// On another node: its ranks do the work that node 0 has resolved.
int comm_there(config::Loaded loaded, const rank::CommRequest& request, const launch::Launch& launch,
               const config::Value& terms) {
  std::optional<PreparedComm> p;
  return launch::take_part(launch, terms, runs::patience_of(loaded.experiment), [&](const launch::Guest& guest) {
    const auto work = guest.work<CommWork>();
    loaded.experiment.device_pool = work.device_pool;
    loaded.experiment.distributed.backend = work.backend;
    p.emplace(prepare_comm(loaded, request, launch));
    return launch::Job{.plan = p->plan,
                       .as_rank = [&](const rank::Task& task) { return p->library.serve(task, request); },
                       .saves = false,
                       .task = {.logs_failure = false}};
  });
}

// As one rank that torchrun or srun started.
int comm_launched(const CommFlags& flags, const config::Loaded& loaded, const rank::CommRequest& request,
                  const launch::Launch& launch) {
  const PreparedComm p = prepare_comm(loaded, request, launch);
  const int nodes = launch.world_size / p.plan.ranks_here();
  std::optional<CommTable> table;
  if (launch.rank == 0) table.emplace(p.plan, nodes, p.plan.device_names(), request, flags.json);
  std::int64_t wrong = 0;
  const auto measured = runs::measure_launched(
      {.plan = p.plan, .library = p.library, .request = request, .take_row = [&](const rank::CommRow& row) {
         wrong += row.wrong;
         if (table) table->add(row);
       }});
  if (table) table->finish(measured.why);
  return measured.exit_code != 0 ? measured.exit_code : wrong > 0 ? 1 : 0;
}

int comm(const CommFlags& f) {
  const rank::CommRequest request = measured_by(f);
  const config::Loaded loaded = settings_of(f);
  launch::Launch launch = launch::choose_launch(f.launch);
  launch::apply_init_method(loaded, launch);
  if (launch.one_rank) return comm_launched(f, loaded, request, launch);
  const config::Value terms = launch::terms_of(launch, "comm",
                                               {{"--op", f.op},
                                                {"--sizes", f.sizes},
                                                {"--dtype", f.dtype},
                                                {"--devices", f.devices},
                                                {"--backend", f.backend},
                                                {"--iterations", f.iterations},
                                                {"--warmup", f.warmup},
                                                {"--check", f.check},
                                                {"--timeout", f.timeout}});
  if (launch.node_rank > 0) return comm_there(loaded, request, launch, terms);
  return launch::lead(launch, terms, runs::patience_of(loaded.experiment),
                      [&](launch::Nodes* nodes) { return comm_here(f, loaded, request, launch, *nodes); });
}

void add_comm(CLI::App& verb, CommFlags& f) {
  verb.add_option("--op", f.op,
                  "all, or a comma-separated list of all_reduce, reduce, broadcast, scatter, gather, all_gather")
      ->capture_default_str();
  verb.add_option("--sizes", f.sizes,
                  "bytes: 4096, or 1KiB,1MiB, or 1KiB..64MiB (doubling), or 1KiB..1GiB:4 (times 4); rounded down to "
                  "whole elements, and at least one")
      ->capture_default_str();
  verb.add_option("--device-pool,--devices", f.devices,
                  "one rank for each: auto (all GPUs, or two CPU ranks), a number of ranks, 0,1,2 or cpu,cpu")
      ->capture_default_str();
  completes(verb.add_option(
                "--backend", f.backend,
                "gloo, nccl, shm (shared memory of a node's CPU ranks; gloo between nodes), or auto as in training"),
            [](const auto& given, const auto& typed) {
              return completion::one_of(known_backends(config::Components::installed()))(given, typed);
            })
      ->capture_default_str();
  verb.add_option("--dtype", f.dtype, "float, double, half, bfloat16, int8, uint8, int32 or int64")
      ->capture_default_str();
  verb.add_option("--iterations", f.iterations, "number of timed calls")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--warmup", f.warmup, "number of untimed calls before the timed ones")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  verb.add_flag("--check,!--no-check", f.check, "check every value of every rank, in separate calls (the default)");
  verb.add_option("--timeout", f.timeout, "seconds that nodes and ranks wait for each other")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  verb.add_flag("--json", f.json, "print one JSON object instead of the table");
  add_launch_flags(verb, f.launch);
}

const bool comm_registered =
    register_verb(160, "comm", "time and check collectives between devices and nodes", add_comm, comm,
                  {.examples = {"comm --sizes 1KiB..64MiB", "comm --op all_reduce --backend gloo"}}) &&
    register_schema<CommOutput>("comm", "comm --json");

}  // namespace

}  // namespace ddp::commands
