#include <memory>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "commands/comm/comm_options.h"
#include "commands/comm/comm_table.h"
#include "commands/comm/comm_words.h"
#include "commands/commands.h"
#include "commands/train/launch_flags.h"
#include "commands/train/nodes.h"
#include "launch/run/asking.h"

namespace ddp::commands {
namespace {

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

// Prints a row, and at once any wrong value in it.
void take(const rank::CommRow& row, CommTable& table) {
  table.add(row);
  if (row.wrong > 0) log::error(wrong_in_words(row));
}

// On node 0, or on the only node.
int comm_here(const CommFlags& flags, const config::Loaded& loaded, const rank::CommRequest& request,
              const launch::Launch& launch, launch::Nodes& nodes) {
  const PreparedComm p = prepare_comm(loaded, request, launch);
  const auto& e = p.plan.experiment;
  nodes.welcome(config::Value{{"device_pool", e.device_pool}, {"backend", e.distributed.backend}}.dump());
  std::vector<std::string> devices = p.plan.device_names();
  for (const auto& device : nodes.devices()) devices.push_back(device);
  CommTable table(p.plan, launch.nodes, devices, request, flags.json);
  auto measured = launch::measure({.plan = p.plan,
                                   .library = p.library,
                                   .request = request,
                                   .take_row = [&](const rank::CommRow& row) { take(row, table); }},
                                  nodes);
  measured.why = in_words_of_comm(measured.why);
  if (measured.exit_code == 1) log::error(measured.why);
  const int code = std::max(table.finish(measured.why), measured.exit_code);
  nodes.end(code, code != 1 ? "" : measured.why.empty() ? "values were wrong" : measured.why);
  return code;
}

// On another node: its ranks do the work that node 0 has resolved.
int comm_there(config::Loaded loaded, const rank::CommRequest& request, const launch::Launch& launch,
               const config::Value& terms) {
  std::optional<PreparedComm> p;
  return take_part(launch, terms, patience_of(loaded.experiment), [&](const std::string& work) {
    const auto resolved = config::Value::parse(work);
    loaded.experiment.device_pool = resolved.at("device_pool");
    loaded.experiment.distributed.backend = resolved.at("backend");
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
  const auto measured = launch::measure_launched(
      {.plan = p.plan, .library = p.library, .request = request, .take_row = [&](const rank::CommRow& row) {
         wrong += row.wrong;
         if (table) take(row, *table);
       }});
  if (table) table->finish(in_words_of_comm(measured.why));
  return measured.exit_code != 0 ? measured.exit_code : wrong > 0 ? 1 : 0;
}

int comm(const CommFlags& f) try {
  const rank::CommRequest request = measured_by(f);
  const config::Loaded loaded = settings_of(f);
  launch::Launch launch = launch::choose_launch(f.launch);
  launch::apply_init_method(loaded, launch);
  if (launch.one_rank()) return comm_launched(f, loaded, request, launch);
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
  return lead(launch, terms, patience_of(loaded.experiment),
              [&](launch::Nodes& nodes) { return comm_here(f, loaded, request, launch, nodes); });
} catch (const Error& error) {
  throw in_words_of_comm(error);
}

void add_comm(CLI::App& app, int& exit_code) {
  auto f = std::make_shared<CommFlags>();
  CLI::App* verb = app.add_subcommand("comm", "time and check collectives between devices and nodes");
  verb->add_option("--op", f->op,
                   "all, or a comma-separated list of all_reduce, reduce, broadcast, scatter, gather, all_gather")
      ->capture_default_str();
  verb->add_option("--sizes", f->sizes,
                   "bytes: 4096, or 1KiB,1MiB, or 1KiB..64MiB (doubling), or 1KiB..1GiB:4 (times 4); rounded down to "
                   "whole elements, and at least one")
      ->capture_default_str();
  verb->add_option("--device-pool,--devices", f->devices,
                   "one rank for each: auto (all GPUs, or two CPU ranks), a number of ranks, 0,1,2 or cpu,cpu")
      ->capture_default_str();
  verb->add_option("--backend", f->backend,
                   "gloo, nccl, shm (shared memory of a node's CPU ranks; gloo between nodes), or auto as in training")
      ->capture_default_str();
  verb->add_option("--dtype", f->dtype, "float, double, half, bfloat16, int8, uint8, int32 or int64")
      ->capture_default_str();
  verb->add_option("--iterations", f->iterations, "number of timed calls")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb->add_option("--warmup", f->warmup, "number of untimed calls before the timed ones")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  verb->add_flag("--check,!--no-check", f->check, "check every value of every rank, in separate calls (the default)");
  verb->add_option("--timeout", f->timeout, "seconds that nodes and ranks wait for each other")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  verb->add_flag("--json", f->json, "print one JSON object instead of the table");
  add_launch_flags(*verb, f->launch);
  verb->callback([f, &exit_code] { exit_code = comm(*f); });
}

const bool comm_registered = register_verb(160, add_comm);

}  // namespace

}  // namespace ddp::commands
