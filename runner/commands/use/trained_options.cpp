#include "commands/use/trained_options.h"

#include <CLI/CLI.hpp>

#include "commands/options.h"
#include "report/text/words.h"

namespace ddp::commands {

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

}  // namespace ddp::commands
