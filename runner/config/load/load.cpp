#include "config/load/load.h"

#include <algorithm>

#include "base/paths.h"
#include "config/check/check.h"
#include "config/check/rules.h"
#include "config/experiment.h"
#include "config/load/compose.h"
#include "config/load/parameter.h"
#include "config/text/toml.h"

namespace ddp::config {
namespace {

// Records the place of each key's value; for a table, which has no place of its own, the place of its key. Tables and
// texts in lists count as keys too: "model.layers[2]".
bool replaces(const Node& node) { return node.varies || is_of_command_line(node.place); }

void note_places(const Node& node, const std::string& path, Loaded& loaded) {
  if (!path.empty()) loaded.places[path] = node.is_table() ? node.key : node.place;
  for (const auto& [key, entry] : node.entries) {
    if (!path.empty() && !replaces(node) && replaces(entry)) loaded.replaced.insert(path + "." + key);
    note_places(entry, path.empty() ? key : path + "." + key, loaded);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Node& item = node.items[i];
    if (item.is_table() || item.text()) note_places(item, path + "[" + std::to_string(i) + "]", loaded);
  }
}

// The optimizer that the settings name; empty if they name none or the name is not a text.
std::string optimizer_of(const Node& root) {
  const Node* name = root.at_path("optimizer.name");
  if (!name) return Experiment{}.optimizer.name;
  return name->text().value_or("");
}

// The dataset of validation or test inherits the keys of [dataset] that it does not override. With another name it
// inherits nothing.
void inherit_dataset(Node& root, const std::string& section) {
  const Node* dataset = root.find("dataset");
  const auto held_out = root.entries.find(section);
  if (!dataset || held_out == root.entries.end()) return;
  const auto own = held_out->second.entries.find("dataset");
  if (own == held_out->second.entries.end() || !own->second.is_table() || !dataset->is_table()) return;
  const Node* name = own->second.find("name");
  const Node* inherited = dataset->find("name");
  if (name && inherited && name->text() != inherited->text()) return;
  for (const auto& [key, value] : dataset->entries) own->second.entries.try_emplace(key, value);
}

// Fills in the defaults of [ema]: the section turns the average on, even without keys.
void supply_ema(Node& root) {
  const auto ema = root.entries.find("ema");
  if (ema == root.entries.end() || !ema->second.is_table()) return;
  const auto supply = [&](const char* key, Type kind, const Value& value) {
    ema->second.entries.try_emplace(
        key, Node{.kind = kind, .scalar = value, .key = ema->second.key, .place = ema->second.key});
  };
  supply("decay", Type::number, Ema::kDecay);
  supply("every", Type::integer, Ema::kEvery);
}

// True for a size that must equal the size of the data; a model may exceed the other sizes.
bool is_exact(const std::string& fact, const Value& facts) {
  if (fact == "out_features") return !facts.contains("num_classes");
  return fact == "in_features" || fact == "in_channels" || fact == "image_size";
}

void check_size(const Option& option, const Value& given, const Value& facts, const Loaded& loaded) {
  const Value& size = facts.at(option.from_data);
  if (!given.is_number_integer() || !size.is_number_integer()) return;
  const bool fits = is_exact(option.from_data, facts) ? given == size : given >= size;
  if (fits) return;
  const std::string key = "model." + option.name;
  const bool counts_classes = option.from_data == "out_features" && facts.contains("num_classes");
  throw loaded.error(key,
                     "\"" + key + "\" is " + given.dump() + ", but the data of \"" + loaded.experiment.dataset.name +
                         "\" have " + size.dump() + (counts_classes ? " classes" : " (" + option.from_data + ")"),
                     "leave it out: the data determine it");
}

// The error of a size that neither the file nor the data give.
Error no_size(const Option& option, const Loaded& loaded) {
  return loaded.error("model",
                      "\"model." + option.name + "\" is missing, and the dataset \"" + loaded.experiment.dataset.name +
                          "\" does not determine it",
                      "give it: " + option.doc);
}

}  // namespace

void supply_loss(Node& root, const Components& components, Mistakes& mistakes) {
  const Node* dataset = root.at_path("dataset.name");
  const Spec* spec = dataset && dataset->text() ? components.find("dataset", *dataset->text()) : nullptr;
  if (!spec || root.at_path("loss.name")) return;
  if (!spec->traits.contains("loss")) {
    if (!root.find("loss"))
      mistakes.add(root.place, "\"loss\" is missing: the dataset \"" + spec->name + "\" implies none",
                   "\"cross_entropy\" for classes, \"mse\" for numbers");
    return;
  }
  const SourceRange place = dataset->place;
  Node& loss = root.entries.try_emplace("loss", Node{.key = place, .place = place}).first->second;
  if (!loss.is_table()) return;
  loss.entries["name"] = {.kind = Type::text, .scalar = spec->traits["loss"], .key = place, .place = place};
}

// A run of other characters becomes "-": "my-first-run" for "my first run".
std::string name_of_file(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  if (is_safe_name(stem)) return stem;
  std::string name;
  for (const char c : stem) {
    const bool is_safe = is_safe_name({'a', c});
    if (is_safe && is_safe_name(name + c)) name += c;
    if (!is_safe && !name.empty() && name.back() != '-') name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? stem : name;  // the check refuses it
}

Error Loaded::error(const std::string& path, const std::string& what, const std::string& remedy) const {
  const auto place = places.find(path);
  if (place == places.end()) return usage_error("\"" + path + "\": " + what, file, remedy);
  const std::string lines = excerpt(place->second);
  return usage_error(lines.empty() ? what : what + "\n" + lines, where(path), remedy);
}

std::string Loaded::where(const std::string& path) const {
  const auto place = places.find(path);
  return place == places.end() ? file : config::where(place->second);
}

std::string Loaded::blamed(const std::string& path) const {
  std::string found;
  for (auto key = replaced.lower_bound(path + "."); key != replaced.end() && key->starts_with(path + "."); ++key) {
    if (!found.empty()) return path;
    found = *key;
  }
  return found.empty() ? path : found;
}

bool Loaded::given(const std::string& path) const { return places.count(path) > 0; }

Loaded check_root(Node root, const std::filesystem::path& file, const Components& components, Mistakes& mistakes) {
  Loaded loaded;
  loaded.file = file.string();
  keep_texts_as_typed(root, root, {}, components);
  note_places(root, "", loaded);
  root.entries.erase("sweep");  // load_sweep reads it
  const Node given = root;
  supply_loss(root, components, mistakes);
  supply_ema(root);
  inherit_dataset(root, "validation");
  inherit_dataset(root, "test");
  std::vector<Option> options = describe<Experiment>();
  supply_names(options, components, gives_scalars(root, components));
  supply_group_keys(options, components, optimizer_of(root));
  Value values = Checker(options, components, mistakes).check(root, given);
  if (!root.find("name")) values["name"] = name_of_file(file);
  loaded.experiment = read<Experiment>(values);
  if (!loaded.experiment.ema.on()) loaded.experiment.ema = {};
  loaded.experiment.resolve(components);
  if (const Spec* model = components.find("model", loaded.experiment.model.name)) {
    loaded.model_devices = model->traits.value("devices", std::int64_t{1});
  }
  if (const Spec* parallel = components.find("parallel", loaded.experiment.parallel)) {
    loaded.strategy = strategy_of(parallel->traits);
  }
  const Experiment& e = loaded.experiment;
  for (const Component* dataset : {&e.dataset, &e.validation.dataset, &e.test.dataset}) {
    const Spec* spec = components.find("dataset", dataset->name);
    if (!spec) continue;
    if (dataset == &e.dataset) loaded.holds_data = spec->traits.value("held", false);
    if (e.loader.stream && !spec->traits.value("streams", false)) {
      mistakes.add(root.at_path("loader.stream")->place,
                   "the dataset " + in_quotes(dataset->name) + " cannot be read block by block",
                   "csv, parquet, jsonl, tar and tokens can");
    }
    if (spec->traits.contains("library")) loaded.libraries.insert(spec->traits["library"].get<std::string>());
  }
  const bool is_random = e.dataset.options.value("sampling", "") == "random";
  if (e.loader.stream && (e.loader.sample != "all" || is_random)) {
    mistakes.add(root.at_path("loader.stream")->place, "a stream draws each row once an epoch",
                 std::string("leave ") + (is_random ? "dataset.sampling" : "loader.sample") + " out");
  }
  check_rules(root, loaded.experiment, mistakes);
  return loaded;
}

std::vector<NamedSource> named_sources(const std::filesystem::path& file, const std::vector<std::string>& sets) {
  Mistakes mistakes;
  const std::optional<Node> root = compose(file, sets, describe<Experiment>(), mistakes);
  const Node* list = root ? root->find("sources") : nullptr;
  std::vector<NamedSource> sources;
  if (!list) return sources;
  for (const Node& item : list->items) {
    const std::optional<std::string> name = item.text();
    if (!name || name->empty()) return {};
    sources.push_back({.path = absolute_path(item, *name), .place = item.place});
  }
  return sources;
}

Loaded load(const std::filesystem::path& file, const std::vector<std::string>& sets, const Components& components) {
  Mistakes mistakes;
  std::optional<Node> root = compose(file, sets, describe<Experiment>(), mistakes);
  if (!root) throw mistakes.error();
  Loaded loaded = check_root(std::move(*root), file, components, mistakes);
  if (!mistakes.empty()) throw mistakes.error();
  return loaded;
}

std::string to_toml(const Experiment& experiment) { return to_toml(write(experiment)); }

namespace {

bool is_balanced(const Experiment& e) { return e.loss.options.value(kWeight, Value()) == kBalanced; }

// Replaces "balanced" by the weights of the classes.
void fill_weights(Experiment& e, const Loaded& loaded, const Value& facts) {
  if (!is_balanced(e)) return;
  const std::string key = std::string("loss.") + kWeight;
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    throw loaded.error(key, what, remedy);
  };
  const Value counts = facts.value("class_counts", Value());
  if (!counts.is_array())
    refuse("\"balanced\" needs one class for each sample, and these data have none", "leave it out");
  double all = 0;
  for (const Value& count : counts) all += count.get<double>();
  Value weights = Value::array();
  for (const Value& count : counts) {
    if (count == 0) {
      refuse("\"balanced\" gives the class with number " + std::to_string(weights.size()) +
                 " no weight: no training sample has it",
             "leave the class out, or give a list of weights");
    }
    weights.push_back(all / (static_cast<double>(counts.size()) * count.get<double>()));
  }
  e.loss.options[kWeight] = std::move(weights);
}

}  // namespace

bool leaves_sizes(const Experiment& e) {
  if (is_balanced(e)) return true;
  const Components components = e.components();
  const Spec* model = components.find("model", e.model.name);
  return model != nullptr && std::any_of(model->options.begin(), model->options.end(), [&](const Option& option) {
           return !option.from_data.empty() && !e.model.options.contains(option.name);
         });
}

void fill_sizes(Experiment& e, const Loaded& loaded, const Value& facts) {
  fill_weights(e, loaded, facts);
  const Components components = e.components();
  const Spec* model = components.find("model", e.model.name);
  if (model == nullptr) return;
  for (const Option& option : model->options) {
    if (option.from_data.empty()) continue;
    const auto given = e.model.options.find(option.name);
    const bool told = facts.contains(option.from_data);
    if (given == e.model.options.end() && !told) throw no_size(option, loaded);
    if (given == e.model.options.end()) {
      e.model.options[option.name] = facts.at(option.from_data);
    } else if (told) {
      check_size(option, *given, facts, loaded);
    }
  }
}

}  // namespace ddp::config
