#include "commands/other_split.h"

#include <algorithm>

#include "base/own_command.h"
#include "base/shell_word.h"
#include "commands/sets.h"
#include "config/difference.h"

namespace ddp::commands {
namespace {

// The options that choose the samples of a split, besides its size.
bool same_order(const config::Experiment& a, const config::Experiment& b) {
  return a.validation.seed == b.validation.seed && a.validation.stratify == b.validation.stratify &&
         a.validation.by == b.validation.by && a.test.stratify == b.test.stratify && a.test.by == b.test.by;
}

// With one order, a smaller share consists of samples that were held out before (data/split.h).
bool measures_trained(const config::Experiment& before, const config::Experiment& now) {
  constexpr double kRounding = 1e-9;
  const double then = before.validation.split + before.test.split;
  const double share = now.validation.split + now.test.split;
  if (share <= 0 || !same_data(before, now)) return false;
  return share > then + kRounding || !same_order(before, now);
}

bool chooses_samples(const std::string& key) {
  const std::string option = key.substr(key.find('.') + 1);
  const auto options = {"split", "seed", "stratify", "by"};
  return (key.starts_with("validation.") || key.starts_with("test.")) &&
         std::find(options.begin(), options.end(), option) != options.end();
}

}  // namespace

bool same_data(const config::Experiment& before, const config::Experiment& now) {
  return before.dataset.name == now.dataset.name && before.dataset.options == now.dataset.options;
}

std::string held_out_after_training(const config::Experiment& before, const config::Experiment& now,
                                    const std::filesystem::path& config, const std::vector<std::string>& sets) {
  if (!measures_trained(before, now)) return "";
  std::string changed;
  const config::Value changes = config::differences(config::write(before), config::write(now));
  for (const auto& [key, values] : changes.items()) {
    if (!chooses_samples(key)) continue;
    changed += (changed.empty() ? "" : "; ") + config::change_in_words(key, values);
  }
  return changed +
         ": the model has trained on samples that are held out now, so their values are better than on new data\n  "
         "hold them out from the start, in a new run: " +
         with_sets(own_command("run " + path_word(config)), sets);
}

}  // namespace ddp::commands
