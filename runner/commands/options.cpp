#include "commands/options.h"

#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <map>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "base/url.h"
#include "config/option/value.h"
#include "record/run_directory.h"
#include "report/text/paper_table.h"
#include "report/text/words.h"

namespace ddp::commands {

std::vector<std::string>& aliases_of(const CLI::Option* option) {
  static std::map<const CLI::Option*, std::vector<std::string>> all;
  return all[option];
}

CLI::Option* known_as(CLI::Option* option, std::vector<std::string> aliases) {
  aliases_of(option) = std::move(aliases);
  return option;
}

void add_sets(CLI::App& verb, std::vector<std::string>& sets, completion::Argument argument, const std::string& what) {
  completes(verb.add_option("--set", sets, "key=value that overrides " + what + ", as in TOML; repeatable"),
            completion::settings(argument))
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  verb.add_option_function<std::vector<std::string>>(
          "--unset",
          [&sets](const std::vector<std::string>& keys) {
            for (const std::string& key : keys) sets.push_back("~" + key);
          },
          "key of " + what + " to take away; repeatable")
      ->take_all()
      ->allow_extra_args(false);
}

namespace {

// An empty text is refused, not taken as none.
void refuse_empty(CLI::Option* option, const std::string& what, const std::string& hint = "leave it out") {
  option->each([name = option->get_name(), what, hint](const std::string& given) {
    if (given.empty()) throw usage_error("\"\" cannot be " + what, name, hint);
  });
}

}  // namespace

void add_name(CLI::App& verb, std::string& name, const std::string& doc) {
  refuse_empty(completes(verb.add_option("--name", name, doc)->type_name("NAME"), completion::experiments),
               "the name of an experiment");
}

void add_run_id(CLI::App& verb, std::string& run_id, const std::string& doc) {
  refuse_empty(verb.add_option("--run-id", run_id, doc)->type_name("ID"), "a run id");
}

void add_results(CLI::App& verb, std::string& results, const std::string& doc) {
  CLI::Option* option = verb.add_option("--results", results, doc)->type_name("FOLDER")->capture_default_str();
  completes(option, completion::folders);
  known_as(option, {"--output-dir", "--out-dir", "--log-dir"});
  refuse_empty(option, "a results folder", "write --results . for this folder");
  option->each([is_list = verb.get_name() == "list"](const std::string& given) {
    if (has_url_form(given) && !is_list) {
      throw usage_error("takes a folder, not a URL", "--results", "[checkpoint] mirror copies runs to a URL");
    }
  });
}

void add_from(CLI::App& verb, std::string& from, const std::string& doc) {
  completes(verb.add_option("--from", from, doc), completion::checkpoints)
      ->type_name("CHECKPOINT")
      ->capture_default_str();
}

void add_status(CLI::App& verb, std::string& status, const std::string& doc) {
  completes(verb.add_option("--status", status, doc)->type_name("STATUS"),
            completion::one_of({"running", "completed", "failed", "interrupted"}));
}

CLI::Option* names_output(CLI::Option* option) {
  completes(option->type_name("FILE"), completion::files({".html", ".sbatch", ".csv", ".npy"}));
  return known_as(option, {"--out", "-o"});
}

void add_tag(CLI::App& verb, std::vector<std::string>& tags, const std::string& doc) {
  verb.add_option("--tag", tags, doc + "; repeatable")
      ->type_name("TAG")
      ->take_all()
      ->allow_extra_args(false)
      ->each(record::require_tag);
}

void add_where(CLI::App& verb, std::vector<std::string>& where, const std::string& doc) {
  verb.add_option("--where", where, doc + ": 'val_loss<0.3 and optimizer.lr=0.1', …; repeatable")
      ->type_name("CONDITION")
      ->take_all()
      ->allow_extra_args(false);
}

std::vector<report::Condition> conditions_of(const std::vector<std::string>& where) {
  std::vector<report::Condition> conditions;
  for (const std::string& text : where) {
    for (report::Condition& one : report::parse_conditions(text)) conditions.push_back(std::move(one));
  }
  return conditions;
}

void add_tags(CLI::App& verb, record::TagChange& tags) {
  add_tag(verb, tags.added, "word by which `list` finds the new run or sweep");
  verb.add_option("--note", tags.note, "text about it");
}

std::string as_toml(const std::string& text) {
  return config::Value(text).dump(-1, ' ', false, config::Value::error_handler_t::replace);
}

report::Row find_result(const std::filesystem::path& results, const std::string& run) {
  return read_result(record::RunDirectory::find(results, run).path(), results);
}

report::Row read_result(const std::filesystem::path& folder, const std::filesystem::path& results) {
  report::Row row{.run = report::name_of(folder, results), .what = {}};
  if (record::RunDirectory(folder).is_sweep()) {
    row.what = report::read_sweep(folder);
  } else {
    report::RunView run = report::read_run(folder);
    const record::RunDirectory own(paths::absolute(folder));
    if (own.is_trial()) report::add_trial_status(report::read_sweep(own.path().parent_path().parent_path()), run);
    row.what = std::move(run);
  }
  return row;
}

namespace {

// torchrun writes a fixed number of nodes as 2 or 2:2.
std::string fixed_number(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return text;
  const std::string most = text.substr(colon + 1);
  if (text.substr(0, colon) == most) return most;
  throw usage_error("the number of nodes is fixed, not " + text, "--nnodes", "give one number: --nnodes " + most);
}

// torchrun counts devices by these words; here the experiment does.
std::string number_of_ranks(const std::string& text) {
  if (text != "auto" && text != "gpu" && text != "cpu") return text;
  throw usage_error("\"" + text + "\" is not a number of ranks", "--nproc-per-node",
                    "leave it out: device_pool = \"auto\" gives each GPU a rank");
}

void require_meeting_by_c10d(const std::string& backend) {
  if (backend == "c10d" || backend == "static") return;
  throw usage_error("\"" + backend + "\" is no way to meet here", "--rdzv-backend",
                    "leave it out: nodes meet at --rdzv-endpoint");
}

}  // namespace

void add_launch_flags(CLI::App& verb, launch::LaunchFlags& f) {
  constexpr const char* kGroup = "Launch on several nodes: the same command on each (torchrun's flags)";
  const auto add = [&](const char* names, auto& value, const char* doc) {
    return verb.add_option(names, value, doc)->group(kGroup);
  };
  known_as(add("--nnodes", f.nnodes, "number of nodes"), {"--num-nodes", "--num-machines"})
      ->check(CLI::Range(1, 100000))
      ->transform(fixed_number);
  add("--node-rank,--node_rank", f.node_rank, "rank of this node")->check(CLI::Range(0, 99999));
  known_as(add("--nproc-per-node,--nproc_per_node", f.nproc_per_node, "ranks per node; default: all of device_pool"),
           kNprocAliases)
      ->check(CLI::Range(1, 4096))
      ->transform(number_of_ranks);
  add("--master-addr,--master_addr", f.master_addr, "address of node 0")->type_name("HOST");
  add("--master-port,--master_port", f.master_port, "free port on node 0; default: 29500")->check(CLI::Range(1, 65535));
  add("--rdzv-endpoint,--rdzv_endpoint", f.rdzv_endpoint, "address and port of node 0: HOST:PORT")->type_name("HOST");
  verb.add_flag("--standalone", f.standalone, "train on one node, even if a launcher started this command")
      ->group(kGroup);
  // Accepted because torchrun's command lines have them: nodes meet by their address alone.
  verb.add_option_function<std::string>("--rdzv-backend,--rdzv_backend", require_meeting_by_c10d)->group("");
  verb.add_option_function<std::string>("--rdzv-id,--rdzv_id", [](const std::string&) {})->group("");
}

void add_max_restarts(CLI::App& verb, launch::LaunchFlags& f) {
  verb.add_option("--max-restarts,--max_restarts", f.max_restarts,
                  "start all ranks again from the newest checkpoint when a rank fails, at most so many times")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  verb.add_flag("--elastic", f.elastic,
                "go on without ranks and nodes that are lost, from the newest checkpoint; needs logical_ranks");
}

void add_output(CLI::App& verb) {
  verb.preparse_callback([](std::size_t) { log::never_wait(); });
  CLI::Option* verbose = verb.add_flag_callback(
      "-v,--verbose", [] { log::set_verbosity(log::Verbosity::verbose); },
      "also print a line for each epoch and rank, and for each checkpoint");
  verb.add_flag_callback(
          "-q,--quiet", [] { log::set_verbosity(log::Verbosity::quiet); }, "print only errors on stderr")
      ->excludes(verbose);
}

void add_data_changed(CLI::App& verb, bool& data_changed) {
  verb.add_flag("--data-changed", data_changed, "accept files of the data that have changed since the checkpoint");
}

void add_trained_run(CLI::App& verb, runs::TrainedOptions& o) {
  completes(verb.add_option("RUN", o.run, std::string(kRunInWords) + "; a sweep stands for its best trial")->required(),
            completion::runs);
  add_results(verb, o.results);
  add_from(verb, o.from, "checkpoint: best, latest or a step; default: best if the run had validation, else latest");
  verb.add_flag("--raw", o.raw, "for a run with [ema]: use the trained weights, not their average");
}

void add_trained(CLI::App& verb, runs::TrainedOptions& o, const std::vector<std::string>& usable) {
  add_trained_run(verb, o);
  add_sets(verb, o.sets, completion::Argument::run);
  // model.path and the like: another graph for the trained weights.
  o.usable = {"batch_size",    "dataset",       "device_pool",    "devices_per_rank", "threads",    "precision",
              "tf32",          "channels_last", "flush_denormal", "deterministic",    "parallel",   "distributed",
              "loader",        "seed",          "grace",          "sources",          "model.path", "model.eval",
              "model.predict", "loss.path"};
  o.usable.insert(o.usable.end(), usable.begin(), usable.end());
  verb.get_option("--set")->description("key=value that overrides the run's setting, as in TOML; repeatable; keys: " +
                                        report::joined(o.usable));
}

void add_jobs(CLI::App& verb, std::optional<int>& jobs) {
  known_as(verb.add_option("--jobs", jobs, "most trials of a sweep side by side; default: as many as the devices hold"),
           {"--parallel"})
      ->check(CLI::Range(1, 4096));
}

void add_paper_format(CLI::App& verb, std::string& format, std::vector<std::string>& metrics) {
  verb.add_option("--format", format, "print a table for a paper: latex, markdown or csv")
      ->check(CLI::IsMember(report::kPaperFormats));
  verb.add_option("--metrics", metrics, "metrics of this table, in this order; default: all")
      ->delimiter(',')
      ->type_name("NAME,…");
}

void print_folder(const std::filesystem::path& folder) {
  // A pipe without a reader must not end this process, also when it has trained.
  std::signal(SIGPIPE, SIG_IGN);
  std::cout << folder.string() << '\n';
  // A full pipe gets the line at the end: training does not wait for the reader.
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&out, 1, 0) > 0) std::cout.flush();
}

void print_folder_of(const record::RunDirectory& run) { print_folder(run.path()); }

}  // namespace ddp::commands
