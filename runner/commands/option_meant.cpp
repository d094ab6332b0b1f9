#include "commands/option_meant.h"

#include <algorithm>
#include <iterator>

#include <CLI/CLI.hpp>

#include "base/own_command.h"
#include "base/shell_word.h"
#include "commands/option_text.h"
#include "config/check/check.h"
#include "config/check/common_names.h"
#include "config/components.h"
#include "config/compose/compose.h"
#include "config/experiment.h"

namespace ddp::commands {
namespace {

// An option of other programs, and an option or an argument of this program's commands.
struct OptionOfOthers {
  const char* name;
  const char* here;
};

// Options for sweeps of other programs, and the key of [sweep] with their meaning.
constexpr OptionOfOthers kOptionsOfSweeps[] = {{"n_trials", "sweep.trials"},    {"num_trials", "sweep.trials"},
                                               {"num_samples", "sweep.trials"}, {"trials", "sweep.trials"},
                                               {"method", "sweep.method"},      {"metric", "sweep.metric"}};

// The first line counts whose option the command has.
constexpr OptionOfOthers kOptionsOfOthers[] = {
    {"checkpoint", "--from"}, {"ckpt", "--from"},         {"checkpoint", "--init-from"},
    {"ckpt", "--init-from"},  {"weights", "--init-from"}, {"pretrained", "--init-from"},
    {"input", "INPUT"},       {"inputs", "INPUT"},        {"data", "INPUT"},
    {"file", "INPUT"},        {"config", "FILE"},         {"config_file", "FILE"},
    {"experiment", "FILE"},   {"file", "FILE"},           {"run", "RUN"},
};

std::string key_of_sweep(const CLI::App& verb, const std::string& name) {
  const auto known = std::find_if(std::begin(kOptionsOfSweeps), std::end(kOptionsOfSweeps),
                                  [&](const auto& one) { return name == one.name; });
  return verb.get_name() != "sweep" || known == std::end(kOptionsOfSweeps) ? "" : known->here;
}

const CLI::Option* option_of_others(const CLI::App& verb, const std::string& name) {
  for (const OptionOfOthers& one : kOptionsOfOthers) {
    const CLI::Option* const here = name == one.name ? verb.get_option_no_throw(one.here) : nullptr;
    if (here != nullptr) return here;
  }
  return nullptr;
}

bool is_count(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Returns the device pool that a word of other programs means: "auto" for "cuda", "[1]" for "cuda:1".
std::string pool_meant(const std::string& value) {
  const std::string plain = config::plain_name(value);
  if (plain == "cpu") return R"(["cpu","cpu"])";
  if (plain.starts_with("cuda:")) return "[" + plain.substr(5) + "]";
  if (is_count(value) && value != "0") return value;
  const bool lists_gpus = !value.empty() && value.find_first_not_of("0123456789,") == std::string::npos;
  return lists_gpus ? "[" + value + "]" : "auto";
}

bool is_like_path(const std::string& value) { return value.find_first_of("./") != std::string::npos; }

// Returns "key=value" for a key of the experiment. A section stands for its key that probably takes the value.
std::string assignment(const std::string& key, const std::string& value) {
  if (key == "device_pool") return key + "=" + pool_meant(value);
  if (key == "dataset" && is_like_path(value)) return "dataset.path=" + value;
  const config::FirstKey* const first = config::first_key(key);
  return (first == nullptr ? key : key + "." + first->key) + "=" + (value.empty() ? "…" : value);
}

// Options of sbatch that `slurm` does not have, and the long names of its short options.
constexpr const char* kOptionsOfSbatch[] = {
    "--qos",         "--mem",      "--gres",       "--gpus",        "--constraint", "-C", "--mail-user",
    "--mail-type",   "--error",    "--exclude",    "--mem-per-cpu", "--nodelist",   "-w", "-x",
    "--reservation", "--chdir",    "-D",           "--dependency",  "--ntasks",     "-n", "-c",
    "--comment",     "--licenses", "--mem-per-gpu"};
constexpr OptionOfOthers kShortOptionsOfSbatch[] = {
    {"-p", "--partition"}, {"-N", "--nodes"}, {"-A", "--account"}, {"-t", "--time"}, {"-J", "--job-name"}};

// Returns the remedy for an option of sbatch, if the command writes a job script; empty: there is none.
std::string sbatch_meant(const CLI::App& verb, const std::string& option, const std::string& value) {
  if (verb.get_option_no_throw("--signal-before") == nullptr) return "";
  for (const OptionOfOthers& one : kShortOptionsOfSbatch) {
    if (option == one.name && verb.get_option_no_throw(one.here) != nullptr)
      return std::string("here it is ") + one.here;
  }
  if (std::find(std::begin(kOptionsOfSbatch), std::end(kOptionsOfSbatch), option) == std::end(kOptionsOfSbatch)) {
    return "";
  }
  const std::string line = option + (value.empty() ? "" : (option.starts_with("--") ? "=" : " ") + value);
  return "other options of sbatch: sbatch " + line + " job.sbatch, or a line \"#SBATCH " + line + "\" in job.sbatch";
}

constexpr const char* kNoSweepHere =
    "a sweep is a table of the experiment file:\n    [sweep.parameters]\n    \"optimizer.lr\" = [0.1, 0.2]\n  then "
    "run: ";

// Returns the remedy for Hydra's options of a sweep; empty: it is another option.
std::string multirun_meant(const CLI::App& verb, const std::string& option) {
  const bool is_multirun = option == "--multirun" || option == "-m";
  if (!is_multirun || verb.get_option_no_throw("--set") == nullptr) return "";
  return kNoSweepHere + own_command("sweep FILE");
}

}  // namespace

std::string option_meant(const CLI::App& verb, const std::string& option, const std::string& value) {
  if (const std::string sbatch = sbatch_meant(verb, option, value); !sbatch.empty()) return sbatch;
  if (const std::string sweep = multirun_meant(verb, option); !sweep.empty()) return sweep;
  const std::string name = config::plain_name(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  if (const CLI::Option* const here = option_of_others(verb, name)) {
    const std::string known = option_names(*here).back();
    if (here->get_positional()) return "give " + known + " as a word without an option\n  usage: " + usage_of(verb);
    return "here it is " + known + ": " + (value.empty() ? here->get_description() : known + " " + shell_word(value));
  }
  if (name.empty() || verb.get_option_no_throw("--set") == nullptr) return "";
  if (const std::string key = key_of_sweep(verb, name); !key.empty()) {
    return "set a key of the sweep with --set " + shell_word(assignment(key, value));
  }
  const config::CommonName* const common = config::find_common_name(name);
  if (common != nullptr && !*common->key) return common->words;
  const std::string key = common != nullptr ? common->key
                                            : config::place_of_key(name, config::describe<config::Experiment>(),
                                                                   config::Components::installed());
  return key.empty() ? "" : "set a key of the experiment with --set " + shell_word(assignment(key, value));
}

std::string word_meant(const CLI::App& verb, const std::string& word) {
  const CLI::Option* const sets = verb.get_option_no_throw("--set");
  if (sets == nullptr) return "";
  const std::vector<std::string>& given = sets->results();
  const auto without_value =
      std::find_if(given.begin(), given.end(), [](const auto& set) { return set.find('=') == std::string::npos; });
  if (without_value != given.end()) return "a setting is one word: --set " + shell_word(*without_value + "=" + word);
  if (const auto of_hydra = config::hydra_override(word)) return of_hydra->what + ": " + of_hydra->remedy;
  if (word.find('=') != std::string::npos) return "a setting needs its option: --set " + shell_word(word);
  const bool measures = verb.get_name() == "eval" && is_like_path(word);
  return measures ? "other data are a setting: --set " + shell_word("dataset.path=" + word) : "";
}

}  // namespace ddp::commands
