#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "commands/commands.h"
#include "config/check/check.h"
#include "config/check/suggest.h"
#include "config/components.h"
#include "config/option/fields.h"
#include "config/text/source.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace {

std::string default_of(const config::Option& option) {
  if (option.required) return "required";
  return option.default_value.is_null() ? "" : "= " + option.default_value.dump();
}

void print_options(const config::Spec& spec, const std::string& indent) {
  report::Table options;
  for (const config::Option& option : spec.options) {
    options.row({option.name, default_of(option), config::expected(option), option.doc});
  }
  options.print(std::cout, {}, indent);
}

void print(const config::Spec& spec) {
  const auto name_and_doc = [](const config::Spec& of) {
    return of.name + (of.doc.empty() ? "" : ": " + of.doc) + "\n";
  };
  std::cout << name_and_doc(spec);
  print_options(spec, "    ");
  for (const config::Option& option : spec.options) {
    for (const config::Spec& variant : option.variants) {
      std::cout << "      type " << name_and_doc(variant);
      print_options(variant, "          ");
    }
  }
}

template <const char* Verb>
struct ComponentsOutput {
  std::vector<config::Spec> specs;

  void fields(config::Fields& f) {
    f.version();
    f({Verb}, specs);
  }
};

constexpr char kModels[] = "models";
constexpr char kDatasets[] = "datasets";

// `only`: the name of one component; empty: all.
template <const char* Verb>
void list(const std::string& kind, const std::string& only, bool json) {
  const config::Components components = config::Components::installed();
  const auto& specs = components.of(kind);
  if (!only.empty() && !specs.contains(only)) {
    throw usage_error("there is no " + kind + " " + config::in_quotes(only), Verb,
                      config::remedy_of_name(only, config::named(specs), "every " + kind));
  }
  ComponentsOutput<Verb> all;
  for (const auto& [name, spec] : specs) {
    if (only.empty() || name == only) all.specs.push_back(spec);
  }
  if (json) return report::print_json(config::written(all), std::cout);
  for (const config::Spec& spec : all.specs) print(spec);
}

template <const char* Verb>
bool register_list(int place, AddVerb add, const std::string& example) {
  const std::string name = Verb;
  return register_verb(place, name, "list the " + name + " of experiment files, with their options", add,
                       {.examples = {name, example}}) &&
         register_schema<ComponentsOutput<Verb>>(Verb, name + " --json");
}

template <const char* Verb>
void add_list(CLI::App& verb, const std::string& kind) {
  auto json = std::make_shared<bool>(false);
  auto only = std::make_shared<std::string>();
  verb.add_option("NAME", *only, "the only " + kind + " to print; default: all");
  verb.add_flag("--json", *json, "print JSON");
  verb.callback([json, only, kind] { list<Verb>(kind, *only, *json); });
}

const bool models_registered = register_list<kModels>(
    110, [](CLI::App& verb, int&) { add_list<kModels>(verb, "model"); }, "models mlp");
const bool datasets_registered = register_list<kDatasets>(
    120, [](CLI::App& verb, int&) { add_list<kDatasets>(verb, "dataset"); }, "datasets csv");

}  // namespace

}  // namespace ddp::commands
