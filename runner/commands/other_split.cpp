#include "commands/other_split.h"

#include <algorithm>

#include "base/own_command.h"
#include "commands/sets.h"
#include "config/difference.h"

namespace ddp::commands {
namespace {

// The size of a split alone does not change the order from which it takes samples.
bool orders_samples(const std::string& key) { return chooses_samples(key) && !key.ends_with(".split"); }

}  // namespace

bool chooses_samples(const std::string& key) {
  const std::string option = key.substr(key.find('.') + 1);
  const auto options = {"split", "seed", "stratify", "by"};
  return (key.starts_with("validation.") || key.starts_with("test.")) &&
         std::find(options.begin(), options.end(), option) != options.end();
}

bool keeps_samples(const std::string& key) { return key.substr(key.rfind('.') + 1) == "on_bad"; }

bool same_data(const config::Experiment& before, const config::Experiment& now) {
  const config::Value changes = config::differences(before.dataset.options, now.dataset.options);
  return before.dataset.name == now.dataset.name &&
         std::all_of(changes.items().begin(), changes.items().end(),
                     [](const auto& change) { return keeps_samples(change.key()); });
}

std::string held_out_after_training(const config::Experiment& before, const config::Experiment& now,
                                    const std::filesystem::path& config, const std::vector<std::string>& sets) {
  constexpr double kRounding = 1e-9;
  const double then = before.validation.split + before.test.split;
  const double share = now.validation.split + now.test.split;
  if (share <= 0 || !same_data(before, now)) return "";
  bool other_samples = share > then + kRounding;
  std::string changed;
  const config::Value changes = config::differences(config::write(before), config::write(now));
  for (const auto& [key, values] : changes.items()) {
    if (!chooses_samples(key)) continue;
    other_samples = other_samples || orders_samples(key);
    changed += (changed.empty() ? "" : "; ") + config::change_in_words(key, values);
  }
  // With one order, a smaller share consists of samples that were held out before (data/split.h).
  if (!other_samples) return "";
  return changed +
         ": the model has trained on samples that are held out now, so their values are better than on new data\n  "
         "hold them out from the start, in a new run: " +
         with_sets(own_command("run " + path_word(config)), sets);
}

}  // namespace ddp::commands
