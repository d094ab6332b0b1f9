#include <algorithm>
#include <iterator>

#include "config/check/common_names.h"
#include "config/text/source.h"

namespace ddp::config {
namespace {

// A name that is known in one section alone.
struct SectionName {
  const char* section;  // "sweep.parameters": each range of it
  const char* name;
  const char* remedy;
};

constexpr const char* kWholeRun = "leave it out: the schedule follows the length of the run";
constexpr const char* kSeparateValidation =
    "did you mean \"dataset\"? It takes a table, in place of split: dataset = { path = \"…\" }; as settings: "
    "--set validation.split=0 --set validation.dataset.path=…";
constexpr const char* kSeparateTest =
    "did you mean \"dataset\"? It takes a table, in place of split: dataset = { path = \"…\" }; as settings: "
    "--set test.split=0 --set test.dataset.path=…";
constexpr const char* kMeasured =
    "the key metrics at the top of the file lists what is measured: metrics = [\"accuracy\"]";

constexpr const char* kNoTarget =
    "no such key: a run ends after `patience` validations without an improvement, or after `max_time`";
constexpr const char* kFolder =
    "leave it out: a run keeps its checkpoints in results/NAME/RUN-ID/checkpoints, and --results FOLDER replaces "
    "results";
constexpr const char* kLogFile =
    "leave it out: a run writes logs/rank-0.log, … in its folder, and --verbose and --quiet choose what is printed";
constexpr const char* kKept =
    "leave it out: the newest and the best checkpoints are kept; keep_last and keep_best are their numbers";
constexpr const char* kDrawn = "leave it out: the held-out samples are drawn; `seed` in [validation] seeds the choice";
constexpr const char* kClips = "leave it out: the key norm limits the norm, and the key value each number";
constexpr const char* kMatch = "did you mean \"match\"?";
constexpr const char* kScale = "did you mean \"lr_scale\"? It multiplies the learning rate of the optimizer";
constexpr const char* kFrozen = "the key freeze at the top of the file freezes parameters: freeze = [\"backbone.*\"]";
constexpr const char* kEvery = "did you mean \"every\"?";

constexpr SectionName kSectionNames[] = {
    {.section = "groups", .name = "name", .remedy = "leave it out: a group has no name, only what it matches"},
    {.section = "groups", .name = "params", .remedy = kMatch},
    {.section = "groups", .name = "parameters", .remedy = kMatch},
    {.section = "groups", .name = "pattern", .remedy = kMatch},
    {.section = "groups", .name = "patterns", .remedy = kMatch},
    {.section = "groups", .name = "names", .remedy = kMatch},
    {.section = "groups", .name = "lr_mult", .remedy = kScale},
    {.section = "groups", .name = "lr_factor", .remedy = kScale},
    {.section = "groups", .name = "lr_multiplier", .remedy = kScale},
    {.section = "groups", .name = "freeze", .remedy = kFrozen},
    {.section = "groups", .name = "requires_grad", .remedy = kFrozen},
    {.section = "stop", .name = "loss", .remedy = kNoTarget},
    {.section = "stop", .name = "target", .remedy = kNoTarget},
    {.section = "stop", .name = "threshold", .remedy = kNoTarget},
    {.section = "stop", .name = "value", .remedy = kNoTarget},
    {.section = "ema", .name = "enabled", .remedy = "leave it out: [ema] turns the average on; every = 0 turns it off"},
    {.section = "ema",
     .name = "start",
     .remedy = "leave it out: the average begins with the weights of the first step"},
    {.section = "ema",
     .name = "warmup",
     .remedy = "leave it out: the average begins with the weights of the first step"},
    {.section = "clip", .name = "type", .remedy = kClips},
    {.section = "clip", .name = "algorithm", .remedy = kClips},
    {.section = "clip", .name = "mode", .remedy = kClips},
    {.section = "checkpoint", .name = "dir", .remedy = kFolder},
    {.section = "checkpoint", .name = "dirpath", .remedy = kFolder},
    {.section = "checkpoint", .name = "path", .remedy = kFolder},
    {.section = "checkpoint", .name = "folder", .remedy = kFolder},
    {.section = "checkpoint", .name = "save_best", .remedy = kKept},
    {.section = "checkpoint", .name = "save_last", .remedy = kKept},
    {.section = "checkpoint", .name = "every_n_epochs", .remedy = "did you mean \"save_every\"?"},
    {.section = "checkpoint", .name = "interval", .remedy = "did you mean \"save_every\"?"},
    {.section = "checkpoint", .name = "every_n_train_steps", .remedy = "did you mean \"save_every_steps\"?"},
    {.section = "log", .name = "file", .remedy = kLogFile},
    {.section = "log", .name = "path", .remedy = kLogFile},
    {.section = "log", .name = "dir", .remedy = kLogFile},
    {.section = "log", .name = "level", .remedy = kLogFile},
    {.section = "log", .name = "interval", .remedy = kEvery},
    {.section = "log", .name = "frequency", .remedy = kEvery},
    {.section = "validation", .name = "interval", .remedy = kEvery},
    {.section = "validation", .name = "frequency", .remedy = kEvery},
    {.section = "validation", .name = "shuffle", .remedy = kDrawn},
    {.section = "validation", .name = "random_state", .remedy = "did you mean \"seed\"?"},
    {.section = "ema", .name = "beta", .remedy = "did you mean \"decay\"?"},
    {.section = "ema", .name = "momentum", .remedy = "did you mean \"decay\"?"},
    {.section = "checkpoint", .name = "every", .remedy = "did you mean \"save_every\"?"},
    {.section = "checkpoint", .name = "mode", .remedy = "leave it out: the direction of each metric is known"},
    {.section = "stop", .name = "mode", .remedy = "leave it out: the direction of each metric is known"},
    {.section = "validation", .name = "path", .remedy = kSeparateValidation},
    {.section = "test", .name = "path", .remedy = kSeparateTest},
    {.section = "validation", .name = "metric", .remedy = kMeasured},
    {.section = "test", .name = "metric", .remedy = kMeasured},
    {.section = "scheduler", .name = "eta_min", .remedy = "did you mean \"min_lr\"?"},
    {.section = "scheduler", .name = "start_factor", .remedy = "did you mean \"warmup\"? In it lr rises from near 0"},
    {.section = "loss", .name = "reduction", .remedy = "leave it out: the loss is the mean"},
    {.section = "init_from", .name = "exclude", .remedy = "did you mean \"skip\"?"},
    {.section = "init_from", .name = "ignore", .remedy = "did you mean \"skip\"?"},
    {.section = "init_from",
     .name = "strict",
     .remedy = "leave it out: `skip` names the tensors that do not come from the file"},
    {.section = "scheduler", .name = "total_steps", .remedy = kWholeRun},
    {.section = "scheduler", .name = "total_iters", .remedy = kWholeRun},
    {.section = "scheduler", .name = "t_max", .remedy = kWholeRun},
    {.section = "scheduler", .name = "num_training_steps", .remedy = kWholeRun},
    {.section = "sweep", .name = "direction", .remedy = "did you mean \"goal\"?"},
    {.section = "sweep", .name = "mode", .remedy = "did you mean \"goal\"?"},
    {.section = "sweep", .name = "num_samples", .remedy = "did you mean \"trials\"?"},
    {.section = "sweep", .name = "grace_period", .remedy = "did you mean \"min_epochs\"? It counts epochs"},
    {.section = "sweep", .name = "max_t", .remedy = "did you mean \"max_epochs\"? It counts epochs"},
    {.section = "sweep", .name = "n_trials", .remedy = "did you mean \"trials\"?"},
    {.section = "sweep.parameters", .name = "log", .remedy = "write scale = \"log\""},
};

constexpr const char* kPython =
    "a model written in Python trains as a .pt2 file, which python/export_model.py writes: write model = { name = "
    "\"exported\", path = \"….pt2\" }";

// The component that reads a file, by the ending of its name.
struct Ending {
  const char* ending;
  const char* kind;
  const char* name;
  const char* others = "";  // keys that the component requires besides the path
  const char* words = "";   // the whole remedy for a file that no component reads
};

constexpr Ending kEndings[] = {
    {.ending = ".csv", .kind = "dataset", .name = "csv", .others = ", target = \"…\""},
    {.ending = ".tsv", .kind = "dataset", .name = "csv", .others = ", target = \"…\""},
    {.ending = ".parquet", .kind = "dataset", .name = "parquet", .others = ", target = \"…\""},
    {.ending = ".jsonl", .kind = "dataset", .name = "jsonl", .others = ", target = \"…\""},
    {.ending = ".npz", .kind = "dataset", .name = "npz"},
    {.ending = ".tar", .kind = "dataset", .name = "tar"},
    {.ending = ".txt", .kind = "dataset", .name = "text"},
    {.ending = ".pt2", .kind = "model", .name = "exported"},
    {.ending = ".py", .kind = "model", .name = "", .words = kPython},
};

constexpr FirstKey kFirstKeys[] = {
    {.section = "clip", .key = "norm", .example = "1.0"},
    {.section = "ema", .key = "decay", .example = "0.999"},
    {.section = "validation", .key = "split", .example = "0.1"},
    {.section = "test", .key = "split", .example = "0.1"},
    {.section = "stop", .key = "patience", .example = "5"},
    {.section = "loader", .key = "workers", .example = "2"},
    {.section = "checkpoint", .key = "save_every", .example = "1"},
    {.section = "log", .key = "every", .example = "10"},
    {.section = "stop", .key = "max_time", .example = "\"2h30m\""},
    {.section = "checkpoint", .key = "metric", .example = "\"val_loss\""},
    {.section = "distributed", .key = "backend", .example = "\"gloo\""},
};

}  // namespace

std::string remedy_in_section(const std::string& section, const std::string& name) {
  const std::string plain = plain_name(name);
  const auto known = std::find_if(std::begin(kSectionNames), std::end(kSectionNames), [&](const auto& one) {
    return plain == one.name && (section == one.section || section.starts_with(one.section + std::string(".")));
  });
  return known == std::end(kSectionNames) ? "" : known->remedy;
}

std::string remedy_of_file(const std::string& path, const std::string& kind, const std::string& text) {
  const auto known = std::find_if(std::begin(kEndings), std::end(kEndings), [&](const Ending& one) {
    return kind == one.kind && plain_name(text).ends_with(one.ending);
  });
  if (known == std::end(kEndings)) return "";
  if (*known->words) return known->words;
  const std::size_t dot = path.rfind('.');
  const std::string file = "path = " + in_quotes(text);
  // The dataset of a validation inherits its other keys.
  if (dot != std::string::npos) return "write " + path.substr(dot + 1) + " = { " + file + " }";
  return "write " + path + " = { name = \"" + known->name + "\", " + file + known->others + " }";
}

const FirstKey* first_key(const std::string& section) {
  const auto known = std::find_if(std::begin(kFirstKeys), std::end(kFirstKeys),
                                  [&](const auto& one) { return section == one.section; });
  return known == std::end(kFirstKeys) ? nullptr : &*known;
}

std::vector<FirstKey> first_keys(const std::string& section) {
  std::vector<FirstKey> keys;
  std::copy_if(std::begin(kFirstKeys), std::end(kFirstKeys), std::back_inserter(keys),
               [&](const auto& one) { return section == one.section; });
  return keys;
}

}  // namespace ddp::config
