#include "commands/train/other_optimizer.h"

#include <algorithm>

#include "base/own_command.h"
#include "commands/sets.h"
#include "config/difference.h"

namespace ddp::commands {
namespace {

// Is this key part of the change to report? Another optimizer has other options in any case, so that only its name is
// reported.
bool tells_of_optimizer(const std::string& key, bool other_name) {
  if (other_name) return key == "optimizer.name";
  return key.starts_with("optimizer.") || key.starts_with("groups");
}

}  // namespace

std::string new_run(const record::RunDirectory& run) { return own_command("run " + path_word(run.config())); }

std::optional<Error> other_model(const Continued& c, const config::Experiment& before, const config::Loaded& now,
                                 const Error& refusal) {
  const config::Value changes = config::differences(config::write(before), config::write(now.experiment));
  for (const auto& [key, values] : changes.items()) {
    if (!key.starts_with("model")) continue;
    return now.error(key,
                     "the model of a run cannot change, and the weights in the checkpoint do not fit: " +
                         config::change_in_words(key, values) + "\n  " + c.checkpoint.string() + " " +
                         refusal.summary(),
                     "leave it out, or start a new run with the other model: " + with_sets(new_run(c.run), c.sets));
  }
  return {};
}

std::optional<Error> other_data(const config::Experiment& before, const config::Loaded& now, const Error& refusal) {
  const bool of_model = std::any_of(now.places.begin(), now.places.end(), [&](const auto& place) {
    return place.first.starts_with("model") && config::where(place.second) == refusal.where();
  });
  const config::Value changes = config::differences(config::write(before), config::write(now.experiment));
  for (const auto& [key, values] : changes.items()) {
    if (!of_model || !key.starts_with("dataset")) continue;
    const std::string why = refusal.summary().substr(0, refusal.summary().find('\n'));
    return now.error(now.given(key) ? key : "dataset.name",
                     "the model of a run cannot change, and it does not fit the other data: " +
                         config::change_in_words(key, values) + "\n  " + why,
                     "leave it out, or start a new run, with a file that has these data and a model for them: " +
                         own_command("run FILE"));
  }
  return {};
}

Error other_optimizer(const Continued& c, const config::Experiment& before, const config::Loaded& now,
                      const Error& refusal) {
  const config::Value changes = config::differences(config::write(before), config::write(now.experiment));
  std::string blamed;
  std::string changed;
  for (const auto& [key, values] : changes.items()) {
    if (!tells_of_optimizer(key, changes.contains("optimizer.name"))) continue;
    if (blamed.empty()) blamed = key;
    changed += (changed.empty() ? "" : "; ") + config::change_in_words(key, values);
  }
  if (changed.empty()) changed = "optimizer " + config::in_quotes(now.experiment.optimizer.name);
  const std::string fresh = with_sets(new_run(c.run) + " --init-from " + path_word(c.checkpoint), c.sets);
  return now.error(
      now.given(blamed) ? blamed : "optimizer.name",
      "the state of the optimizer in the checkpoint does not fit: " + changed + "\n  " + c.checkpoint.string() + " " +
          refusal.summary(),
      "use the optimizer that the checkpoint was saved with, or start a new run with its weights alone: " + fresh);
}

}  // namespace ddp::commands
