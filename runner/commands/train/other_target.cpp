#include "commands/train/other_target.h"

#include <algorithm>

#include "base/own_command.h"
#include "base/shell_word.h"
#include "commands/other_split.h"
#include "commands/sets.h"
#include "config/check/files.h"
#include "config/difference.h"

namespace ddp::commands {

void require_same_target(const Continued& c, const config::Experiment& before, const config::Loaded& now) {
  constexpr const char* kTarget = "dataset.target";
  const config::Value changes = config::differences(config::write(before), config::write(now.experiment));
  const auto change = changes.find(kTarget);
  if (change == changes.end()) return;
  const std::string fresh = own_command("run " + path_word(c.run.config())) + " --init-from " + path_word(c.checkpoint);
  throw now.error(kTarget, "the target of a run cannot change: " + config::change_in_words(kTarget, *change),
                  "leave it out, or start a new run from the weights of this one: " + with_sets(fresh, c.sets));
}

std::string best_change(const config::Experiment& before, const config::Experiment& now) {
  const config::Value changes = config::differences(config::write(before), config::write(now));
  const std::string metric = now.best_metric().name;
  const auto files = config::named_files(now, now.components());
  for (const auto& [key, values] : changes.items()) {
    // The same data may lie at another path.
    if (std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.key == key; })) continue;
    const bool of_data = key.starts_with("dataset") || key.starts_with("validation.dataset") || chooses_samples(key);
    const bool of_loss = key.starts_with("loss") && metric.ends_with("loss");
    if (!of_data && !of_loss) continue;
    return "the best " + metric + " so far was measured " + (of_data ? "on other data" : "with another loss") + " (" +
           key + " has changed), and later values are compared with it";
  }
  return "";
}

}  // namespace ddp::commands
