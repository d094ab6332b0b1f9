#include "config/load/sweep.h"

#include <algorithm>

#include "config/check/check.h"
#include "config/check/rules.h"
#include "config/experiment.h"
#include "config/load/compose.h"
#include "config/text/toml.h"

namespace ddp::config {
namespace {

constexpr std::size_t kMostParameters = 64;

// The keys that every method takes.
struct SweepOptions {
  std::string method = "grid";
  std::string metric;
  std::string goal;
  std::int64_t retries = 0;
  Value parameters;
  void fields(Fields& f) {
    f({.name = "method", .doc = "search method that chooses the values of each trial"}, method);
    f({.name = "metric",
       .doc = "metric that ranks the trials; default: val_loss with validation, else train_loss",
       .names_kind = "metric"},
      metric);
    Option option = goal_option("goal of the metric; default: its own direction, or else checkpoint.goal");
    option.choices = {"min", "max"};
    f(std::move(option), goal);
    f({.name = "retries", .doc = "maximum retries of a failed trial", .range = between(0, 1000)}, retries);
    f({.name = "parameters",
       .doc = "keys to vary: \"optimizer.lr\" = [0.1, 0.01], or { min = 1e-4, max = 0.1, scale = \"log\" }",
       .types = {Type::table}},
      parameters);
  }
};

std::vector<Option> common_options(const Components& components, bool gives_scalars = false) {
  std::vector<Option> options = describe<SweepOptions>();
  for (const auto& [name, spec] : components.of("method")) options.front().choices.push_back(name);
  supply_names(options, components, gives_scalars);
  return options;
}

// Wraps a value in the tables of its key: "optimizer.lr" becomes optimizer = { lr = value }.
Node assignment(const std::string& key, const SourceRange& key_place, Node value) {
  const std::size_t dot = key.find('.');
  Node table{.key = key_place, .place = value.place};
  value.key = key_place;
  if (dot != std::string::npos) value = assignment(key.substr(dot + 1), key_place, std::move(value));
  table.entries.emplace(key.substr(0, dot), std::move(value));
  return table;
}

constexpr const char* kSection = "sweep";
constexpr const char* kRace = "race";
constexpr const char* kCandidate = "candidate";  // the key by which the runs of a race name their experiment
constexpr const char* kOther = "b";
const std::vector<std::string> kCandidates = {"A", "B"};

Node text_at(const SourceRange& place, const std::string& text) {
  return {.kind = Type::text, .scalar = text, .key = place, .place = place};
}

// Returns the value of a key that a cross-validation sets.
Node number_at(const SourceRange& place, std::int64_t number) {
  return {.kind = Type::integer, .scalar = number, .key = place, .place = place};
}

// Does the experiment stand for several runs?
bool has_parts(const Node& root) { return (root.find("folds") && !root.at_path("folds.fold")) || root.find("repeat"); }

// Adds the mistakes of the experiment itself, with each value of each parameter once. For a sweep whose [sweep] has
// mistakes: without them the check of all trials reports the same.
void check_experiment_of(const LoadedSweep& loaded, Mistakes& mistakes) {
  constexpr std::size_t kMostChecks = 1000;
  const std::vector<Parameter>& parameters = loaded.sweep.parameters;
  Point first;
  for (const Parameter& parameter : parameters) first.push_back(parameter.samples().front());
  loaded.trial(first, mistakes);
  std::size_t checks = 1;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Point point = first;
    for (const Node& value : parameters[i].samples()) {
      if (++checks > kMostChecks) return;
      point[i] = value;
      loaded.trial(point, mistakes);
    }
  }
}

}  // namespace

// Reads the [sweep] table.
class SweepReader {
 public:
  SweepReader(const Components& components, Mistakes& mistakes) : components_(components), mistakes_(mistakes) {}

  LoadedSweep read(const std::filesystem::path& file, Node root) {
    keep_texts_as_typed(root, root, {}, components_);
    LoadedSweep loaded = begun(LoadedSweep::Kind::sweep, file, root);
    Node section = std::move(root.entries.at("sweep"));
    root.entries.erase("sweep");
    loaded.place = section.key;
    for (const auto& [key, entry] : section.entries) loaded.places["sweep." + key] = entry.place;
    loaded.base_ = std::move(root);
    read_section(section, loaded);
    return loaded;
  }

  LoadedSweep read_cv(const std::filesystem::path& file, Node root) {
    LoadedSweep loaded = begun(LoadedSweep::Kind::cv, file, root);
    const bool has_folds = root.find("folds") != nullptr;
    loaded.place = root.find(has_folds ? "folds" : "repeat")->key;
    if (const Node* chosen = root.at_path("folds.fold")) {
      mistakes_.add(chosen->key, "folds.fold chooses one fold, and a cross-validation trains all", "leave it out");
    }
    loaded.base_ = std::move(root);
    const Experiment e = loaded.trial({}, mistakes_).experiment;
    if (!mistakes_.empty()) return loaded;
    loaded.sweep.metric = e.best_metric();
    loaded.epochs = e.steps ? 0 : e.epochs.value_or(1);
    loaded.parts = parts_of(e);
    if (loaded.base_.find("repeat")) {
      for (const std::string& key : e.repeat.vary.value_or(std::vector<std::string>{"seed", "sampler_seed"}))
        add_key(loaded, key == "sampler_seed" ? "loader.sampler_seed" : key, &Part::seed);
    }
    if (!has_folds) return loaded;
    add_key(loaded, "folds.repeat", &Part::repeat);
    add_key(loaded, "folds.fold", &Part::fold);
    return loaded;
  }

  LoadedSweep read_race(const std::filesystem::path& file, Node root) {
    LoadedSweep loaded = begun(LoadedSweep::Kind::race, file, root);
    Node section = std::move(root.entries.at(kRace));
    root.entries.erase(kRace);
    loaded.other_ = std::move(section.entries.at(kOther));
    section.entries.erase(kOther);
    loaded.place = section.key;
    loaded.rules = config::read<RaceRules>(to_value(section));
    for (const Node* candidate : {&std::as_const(root), &std::as_const(loaded.other_)}) refuse_in_race(*candidate);
    const auto folds_of = [](const Node& experiment) {
      const Node* folds = experiment.find("folds");
      return folds ? to_value(*folds) : Value();
    };
    if (folds_of(root) != folds_of(loaded.other_)) {
      mistakes_.add(loaded.place, "the two experiments have not the same [folds]", "give both the same");
    }
    loaded.base_ = std::move(root);
    if (!mistakes_.empty()) return loaded;
    const Experiment e = loaded.trial({}, mistakes_).experiment;
    if (!mistakes_.empty()) return loaded;
    loaded.sweep.metric = e.best_metric();
    if (!loaded.rules.metric.empty() && loaded.rules.metric != loaded.sweep.metric.name) {
      loaded.sweep.metric = {.name = loaded.rules.metric,
                             .direction = direction_for("", loaded.rules.metric, components_)};
    } else if (!has_direction(loaded.sweep.metric.name, components_)) {
      loaded.given_goal_ = e.checkpoint.goal;
    }
    for (std::int64_t i = 0; i < loaded.rules.max_seeds; ++i) {
      for (const std::int64_t candidate : {0, 1}) loaded.parts.push_back({.seed = e.seed + i, .candidate = candidate});
    }
    loaded.sweep.parameters.push_back({.key = kCandidate,
                                       .key_place = loaded.place,
                                       .place = loaded.place,
                                       .choices = {text_at(loaded.place, "A"), text_at(loaded.place, "B")}});
    for (const char* key : {"seed", "loader.sampler_seed"}) add_key(loaded, key, &Part::seed);
    for (const std::int64_t candidate : {0, 1})
      loaded.trial(loaded.point_of({.seed = e.seed, .candidate = candidate}), mistakes_);
    return loaded;
  }

 private:
  LoadedSweep begun(LoadedSweep::Kind kind, const std::filesystem::path& file, const Node& root) const {
    LoadedSweep loaded;
    loaded.kind = kind;
    loaded.file = file;
    loaded.components_ = components_;
    const Node* name = root.find("name");
    loaded.name = name && name->text() ? *name->text() : name_of_file(file);
    return loaded;
  }

  void refuse_in_race(const Node& experiment) {
    for (const char* section : {kSection, "repeat"}) {
      const Node* given = experiment.find(section);
      if (given) {
        mistakes_.add(given->key, "[" + std::string(section) + "] in a race",
                      "leave it out: a race trains pairs of seeds until it knows which experiment is better");
      }
    }
  }

  // Adds a key that the runs of a cross-validation set, with the values that it has in them.
  template <class Number>
  static void add_key(LoadedSweep& loaded, const std::string& key, Number Part::*number) {
    Parameter parameter{.key = key, .key_place = loaded.place, .place = loaded.place};
    for (const Part& part : loaded.parts) {
      const std::optional<std::int64_t> value = part.*number;
      const auto is_known = [&](const Node& known) { return known.scalar == *value; };
      if (std::none_of(parameter.choices.rbegin(), parameter.choices.rend(), is_known))
        parameter.choices.push_back(number_at(loaded.place, *value));
    }
    loaded.sweep.parameters.push_back(std::move(parameter));
  }

  void read_section(const Node& section, LoadedSweep& loaded) {
    const Node* named = section.find("method");
    const std::string method = named && named->text() ? *named->text() : "grid";
    const Spec* spec = components_.find("method", method);
    // An unknown method is one mistake: the options of every method are accepted, to report no further ones.
    std::vector<Option> options =
        spec ? common_options(components_, gives_scalars(loaded.base_, components_)) : sweep_options(components_);
    if (spec) options.insert(options.end(), spec->options.begin(), spec->options.end());
    loaded.section_ = Checker(options, components_, mistakes_).check_section(section, "sweep", "method", method);
    const auto common = config::read<SweepOptions>(loaded.section_);
    Sweep& sweep = loaded.sweep;
    sweep.method = {.name = method, .options = loaded.section_};
    for (const char* key : {"method", "metric", "goal", "retries", "parameters"}) sweep.method.options.erase(key);
    sweep.retries = common.retries;
    read_goal(common, loaded);
    read_what_varies(section, loaded);
    if (spec) read_epochs(section, *spec, loaded);
  }

  void read_goal(const SweepOptions& common, LoadedSweep& loaded) {
    const bool validates = has_validation(loaded.base_);
    Metric& metric = loaded.sweep.metric;
    metric.name = !common.metric.empty() ? common.metric : validates ? "val_loss" : "train_loss";
    const Node* of_checkpoint = loaded.base_.at_path("checkpoint.goal");
    loaded.given_goal_ = common.goal;
    if (common.goal.empty() && of_checkpoint && !has_direction(metric.name, components_)) {
      loaded.given_goal_ = of_checkpoint->text().value_or("");
    }
    metric.direction = direction_for(loaded.given_goal_, metric.name, components_);
    loaded.section_["metric"] = metric.name;
    loaded.section_["goal"] = loaded.sweep.goal();
  }

  void read_what_varies(const Node& section, LoadedSweep& loaded) {
    const Node* table = section.find("parameters");
    if (!table || (table->is_table() && table->entries.empty())) {
      return mistakes_.add(
          section.key, "[sweep.parameters] is missing",
          "give the keys to vary, such as \"optimizer.lr\" = [0.1, 0.01], or = { min = 1e-4, max = 0.1 }");
    }
    if (!table->is_table()) return;  // the check has reported it
    std::vector<Option> options = describe<Experiment>();
    supply_names(options, components_);
    loaded.sweep.parameters = read_parameters(*table, options, components_, mistakes_);
    if (loaded.sweep.parameters.size() > kMostParameters) {
      mistakes_.add(table->key, "more than " + std::to_string(kMostParameters) + " parameters vary");
    }
    for (const Parameter& parameter : loaded.sweep.parameters) {
      // All trials share the components of one list of sources.
      const bool is_fixed = parameter.key == "name" || parameter.key == "extends" || parameter.key == "sources";
      if (!is_fixed && !parameter.key.starts_with("sweep")) continue;
      mistakes_.add(parameter.place, in_quotes(parameter.key) + " cannot vary", "leave it out of [sweep.parameters]");
    }
    check_what_excludes(loaded.sweep.parameters);
    Node found = *table;
    keep_texts_as_typed(found, loaded.base_, loaded.sweep.parameters, components_);
    make_paths_absolute(found, loaded.base_, loaded.sweep.parameters, components_);
    loaded.section_["parameters"] = to_value(found);
    // The journal names the values that sweep.toml has: a resumed sweep compares them.
    Mistakes reported;
    loaded.sweep.parameters = read_parameters(found, options, components_, reported);
  }

  // Finds two varied keys that exclude each other: a trial can have only one of them.
  void check_what_excludes(const std::vector<Parameter>& parameters) {
    const auto named = [&](const Alternatives& two, const char* key) {
      const std::string whole = *two.section == '\0' ? key : std::string(two.section) + "." + key;
      return std::find_if(parameters.begin(), parameters.end(),
                          [&](const Parameter& parameter) { return parameter.key == whole; });
    };
    for (const Alternatives& two : kAlternatives) {
      const auto first = named(two, two.first);
      const auto second = named(two, two.second);
      if (first == parameters.end() || second == parameters.end()) continue;
      mistakes_.add(std::max(first, second)->key_place,
                    in_quotes(first->key) + " and " + in_quotes(second->key) + " both vary",
                    "a trial can have only one of them: vary one");
    }
  }

  // Reads the length of a trial. A method's trait {"epochs": "max_epochs"} names the option that replaces the key
  // epochs.
  void read_epochs(const Node& section, const Spec& method, LoadedSweep& loaded) {
    Node& base = loaded.base_;
    const Node* most = section.find(method.traits.value("epochs", ""));
    if (most && most->kind == Type::integer) {
      Mistakes none;
      assign(base, {assignment("epochs", most->key, *most)}, describe<Experiment>(), none);
    }
    const Node* epochs = base.find("epochs");
    loaded.epochs = base.find("steps")                        ? 0
                    : epochs && epochs->kind == Type::integer ? epochs->scalar.get<std::int64_t>()
                                                              : 1;
  }

  const Components& components_;
  Mistakes& mistakes_;
};

Value Sweep::named(const Point& point) const {
  Value values = Value::object();
  for (std::size_t i = 0; i < parameters.size(); ++i) values[parameters[i].key] = to_value(point.at(i));
  return values;
}

std::vector<Part> parts_of(const Experiment& e) {
  std::vector<std::int64_t> seeds;
  if (e.repeat.seeds.is_array()) {
    seeds = e.repeat.seeds.get<std::vector<std::int64_t>>();
  } else {
    const std::int64_t count = e.repeat.seeds.is_null() ? 1 : e.repeat.seeds.get<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) seeds.push_back(e.seed + i);
  }
  std::vector<Part> parts;
  for (const std::int64_t seed : seeds) {
    if (!e.folds.on()) parts.push_back({.seed = seed});
    for (std::int64_t repeat = 0; e.folds.on() && repeat < e.folds.repeats.value_or(1); ++repeat) {
      for (std::int64_t fold = 0; fold < *e.folds.k; ++fold)
        parts.push_back({.seed = seed, .repeat = repeat, .fold = fold});
    }
  }
  return parts;
}

bool LoadedSweep::trials_are_cvs() const { return kind != Kind::cv && has_parts(base_); }

std::string LoadedSweep::folder_name(int trial) const {
  if (kind != Kind::race) return "";
  const Part& part = parts.at(static_cast<std::size_t>(trial));
  return kCandidates.at(static_cast<std::size_t>(part.candidate)) + "-" + std::to_string(part.seed);
}

Point LoadedSweep::point_of(const Part& part) const {
  Point point;
  for (const Parameter& parameter : sweep.parameters) {
    if (parameter.key == kCandidate) {
      point.push_back(text_at(place, kCandidates.at(static_cast<std::size_t>(part.candidate))));
      continue;
    }
    const std::int64_t number = parameter.key == "folds.repeat" ? *part.repeat
                                : parameter.key == "folds.fold" ? *part.fold
                                                                : part.seed;
    point.push_back(number_at(place, number));
  }
  return point;
}

Node LoadedSweep::with(const Point& point, Mistakes& mistakes) const {
  std::vector<Node> assigned;
  const bool is_other = kind == Kind::race && !point.empty() && point.front().text() == kCandidates.back();
  for (std::size_t i = kind == Kind::race ? 1 : 0; i < point.size(); ++i) {
    const Parameter& parameter = sweep.parameters[i];
    Node value = point[i];
    value.varies = true;
    assigned.push_back(assignment(parameter.key, parameter.key_place, std::move(value)));
  }
  Node root = is_other ? other_ : base_;
  assign(root, std::move(assigned), describe<Experiment>(), mistakes);
  return root;
}

LoadedSweep LoadedSweep::cv_of(const Point& point) const {
  Mistakes mistakes;
  LoadedSweep cv = SweepReader(components_, mistakes).read_cv(file, with(point, mistakes));
  if (!mistakes.empty()) throw mistakes.error();
  cv.sweep.metric = sweep.metric;
  cv.given_goal_ = given_goal_;
  cv.sweep.retries = sweep.retries;
  return cv;
}

Loaded LoadedSweep::trial(const Point& point, Mistakes& mistakes) const {
  Node root = with(point, mistakes);
  const auto folds = root.entries.find("folds");
  if (folds != root.entries.end() && folds->second.is_table())
    folds->second.entries.try_emplace("fold", number_at(folds->second.key, 0));
  Node with_loss = root;
  supply_loss(with_loss, components_, mistakes);
  const auto metric = places.find("sweep.metric");
  if (!sweep.metric.name.empty()) {
    check_measured(sweep.metric.name, given_goal_, metric == places.end() ? place : metric->second, with_loss,
                   components_, mistakes);
  }
  Loaded loaded = check_root(std::move(root), file, components_, mistakes);
  // The checkpoint that a trial keeps as best is the one that ranks it.
  Experiment& e = loaded.experiment;
  const std::string& ranked_by = sweep.metric.name.empty() ? e.best_metric().name : sweep.metric.name;
  if (e.stop.patience > 0 && e.stop.metric.empty() && e.best_metric().name != ranked_by) {
    e.stop.metric = ranked_by;
  }
  if (e.checkpoint.metric.empty() && e.best_metric().name != ranked_by) {
    e.checkpoint.metric = ranked_by;
    e.checkpoint.goal = given_goal_;
    e.resolve(components_);
  }
  return loaded;
}

Loaded LoadedSweep::trial(const Point& point) const {
  Mistakes mistakes;
  Loaded loaded = trial(point, mistakes);
  if (!mistakes.empty()) throw mistakes.error();
  return loaded;
}

void LoadedSweep::set_threads(std::int64_t threads) {
  for (Node* experiment : {&base_, &other_}) {
    experiment->entries.try_emplace("threads",
                                    Node{.kind = Type::integer, .scalar = threads, .key = place, .place = place});
  }
}

void LoadedSweep::set_weights(const std::string& weights, bool of_other) {
  Node& experiment = of_other ? other_ : base_;
  const auto section = experiment.entries.find("init_from");
  if (section == experiment.entries.end()) return;
  const auto path = section->second.entries.find("path");
  if (path != section->second.entries.end()) path->second.scalar = weights;
}

Value LoadedSweep::to_value() const {
  Node base = base_;
  make_paths_absolute(base, base_, sweep.parameters, components_);
  Value written = config::to_value(base);
  written["name"] = name;
  if (kind == Kind::sweep) written[kSection] = section_;
  if (kind == Kind::race) {
    Node other = other_;
    make_paths_absolute(other, other_, {}, components_);
    written[kRace] = config::write(rules);
    written[kRace][kOther] = config::to_value(other);
  }
  return written;
}

std::string LoadedSweep::to_toml() const { return config::to_toml(to_value()); }

std::vector<Option> sweep_options(const Components& components) {
  std::vector<Option> options = common_options(components);
  for (const auto& [name, method] : components.of("method")) {
    for (const Option& option : method.options) {
      const auto same = [&](const Option& known) { return known.name == option.name; };
      if (std::none_of(options.begin(), options.end(), same)) options.push_back(option);
    }
  }
  return options;
}

bool has_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets) {
  Mistakes mistakes;
  const std::optional<Node> root = compose(file, sets, describe<Experiment>(), mistakes);
  return root && (root->find(kSection) || has_parts(*root));
}

LoadedSweep load_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets,
                       const Components& components) {
  Mistakes mistakes;
  std::optional<Node> root = compose(file, sets, describe<Experiment>(), mistakes);
  if (!root) throw mistakes.error();
  const Node* section = root->find(kSection);
  if (const Node* race = root->find(kRace); race && race->find(kOther)) {
    LoadedSweep loaded = SweepReader(components, mistakes).read_race(file, std::move(*root));
    if (!mistakes.empty()) throw mistakes.error();
    return loaded;
  }
  if (!section && (root->find("folds") || root->find("repeat"))) {
    LoadedSweep cv = SweepReader(components, mistakes).read_cv(file, std::move(*root));
    if (!mistakes.empty()) throw mistakes.error();
    return cv;
  }
  if (!section || !section->is_table()) {
    throw usage_error("the file has no [sweep] table", file.string(),
                      "give the keys to vary:\n    [sweep.parameters]\n    \"optimizer.lr\" = [0.1, 0.01, 0.001]");
  }
  LoadedSweep loaded = SweepReader(components, mistakes).read(file, std::move(*root));
  if (mistakes.empty()) return loaded;
  check_experiment_of(loaded, mistakes);
  throw mistakes.error();
}

LoadedSweep load_race(const std::filesystem::path& a, const std::filesystem::path& b,
                      const std::vector<std::string>& sets, const RaceRules& rules, const Components& components) {
  Mistakes mistakes;
  std::optional<Node> root = compose(a, sets, describe<Experiment>(), mistakes);
  std::optional<Node> other = compose(b, sets, describe<Experiment>(), mistakes);
  if (!root || !other) throw mistakes.error();
  const auto sources_of = [](const Node& node) {
    const Node* sources = node.find("sources");
    return sources ? config::to_value(*sources) : Value();
  };
  if (sources_of(*root) != sources_of(*other)) {
    throw usage_error("has other sources than " + a.string(), b.string(), "give both files the same `sources`");
  }
  Node section = {.key = root->place, .place = root->place};
  const Value given = config::write(rules);
  for (const auto& [key, value] : given.items()) {
    const Type type = value.is_string() ? Type::text : value.is_number_integer() ? Type::integer : Type::number;
    section.entries.emplace(key, Node{.kind = type, .scalar = value, .key = root->place, .place = root->place});
  }
  section.entries.emplace(kOther, std::move(*other));
  root->entries.insert_or_assign(kRace, std::move(section));
  LoadedSweep loaded = SweepReader(components, mistakes).read_race(a, std::move(*root));
  if (!mistakes.empty()) throw mistakes.error();
  return loaded;
}

}  // namespace ddp::config
