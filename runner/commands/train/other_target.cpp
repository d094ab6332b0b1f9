#include "commands/train/other_target.h"

#include <algorithm>

#include "base/own_command.h"
#include "commands/other_split.h"
#include "commands/sets.h"
#include "config/check/files.h"
#include "config/difference.h"

namespace ddp::commands {
namespace {

// Returns the sizes of the files that an option names. The same data may lie at another path.
std::vector<std::pair<std::int64_t, std::int64_t>> sizes_of(const std::vector<record::DataFile>& files,
                                                            const std::string& key) {
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;
  for (const record::DataFile& file : files) {
    if (file.key == key) sizes.emplace_back(file.bytes, file.files);
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

}  // namespace

void require_same_target(const Continued& c, const config::Experiment& before, const config::Loaded& now) {
  constexpr const char* kTarget = "dataset.target";
  const config::Value changes = config::differences(config::write(before), config::write(now.experiment));
  const auto change = changes.find(kTarget);
  if (change == changes.end()) return;
  const std::string fresh = own_command("run " + path_word(c.run.config())) + " --init-from " + path_word(c.checkpoint);
  throw now.error(kTarget, "the target of a run cannot change: " + config::change_in_words(kTarget, *change),
                  "leave it out, or start a new run from the weights of this one: " + with_sets(fresh, c.sets));
}

std::string best_change(const config::Experiment& before, const config::Experiment& now,
                        const std::vector<record::DataFile>& then, const std::vector<record::DataFile>& files) {
  const config::Value changes = config::differences(config::write(before), config::write(now));
  const std::string metric = now.best_metric().name;
  for (const auto& [key, values] : changes.items()) {
    const auto sizes = sizes_of(files, key);
    if (keeps_samples(key) || (!sizes.empty() && sizes == sizes_of(then, key))) continue;
    const bool of_data = key.starts_with("dataset") || key.starts_with("validation.dataset") || chooses_samples(key);
    const bool of_loss = key.starts_with("loss") && metric.ends_with("loss");
    if (!of_data && !of_loss) continue;
    return "the best " + metric + " so far was measured " + (of_data ? "on other data" : "with another loss") + " (" +
           key + " has changed), and later values are compared with it";
  }
  return "";
}

}  // namespace ddp::commands
