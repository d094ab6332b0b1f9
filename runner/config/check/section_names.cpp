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
constexpr const char* kSeparate = "did you mean \"dataset\"? It takes a table: dataset = { path = \"…\" }";
constexpr const char* kMeasured =
    "the key metrics at the top of the file lists what is measured: metrics = [\"accuracy\"]";

constexpr SectionName kSectionNames[] = {
    {.section = "ema", .name = "beta", .remedy = "did you mean \"decay\"?"},
    {.section = "ema", .name = "momentum", .remedy = "did you mean \"decay\"?"},
    {.section = "checkpoint", .name = "every", .remedy = "did you mean \"save_every\"?"},
    {.section = "checkpoint", .name = "mode", .remedy = "leave it out: the direction of each metric is known"},
    {.section = "stop", .name = "mode", .remedy = "leave it out: the direction of each metric is known"},
    {.section = "validation", .name = "path", .remedy = kSeparate},
    {.section = "test", .name = "path", .remedy = kSeparate},
    {.section = "validation", .name = "metric", .remedy = kMeasured},
    {.section = "test", .name = "metric", .remedy = kMeasured},
    {.section = "scheduler", .name = "total_steps", .remedy = kWholeRun},
    {.section = "scheduler", .name = "total_iters", .remedy = kWholeRun},
    {.section = "scheduler", .name = "t_max", .remedy = kWholeRun},
    {.section = "scheduler", .name = "num_training_steps", .remedy = kWholeRun},
    {.section = "sweep", .name = "direction", .remedy = "did you mean \"goal\"?"},
    {.section = "sweep", .name = "mode", .remedy = "did you mean \"goal\"?"},
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
