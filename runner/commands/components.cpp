#include <iostream>
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

constexpr char kModel[] = "model";
constexpr char kModels[] = "models";
constexpr char kDataset[] = "dataset";
constexpr char kDatasets[] = "datasets";

struct ListedOptions {
  std::string only;  // the name of one component; empty: all
  bool json = false;
};

template <const char* Verb, const char* Kind>
void list_components(const ListedOptions& o) {
  const config::Components components = config::Components::installed();
  const auto& specs = components.of(Kind);
  if (!o.only.empty() && !specs.contains(o.only)) {
    throw usage_error("there is no " + std::string(Kind) + " " + config::in_quotes(o.only), Verb,
                      config::remedy_of_name(o.only, config::named(specs), "every " + std::string(Kind)));
  }
  ComponentsOutput<Verb> all;
  for (const auto& [name, spec] : specs) {
    if (o.only.empty() || name == o.only) all.specs.push_back(spec);
  }
  if (o.json) return report::print_json(config::written(all), std::cout);
  for (const config::Spec& spec : all.specs) print(spec);
}

template <const char* Kind>
void add_listed(CLI::App& verb, ListedOptions& o) {
  verb.add_option("NAME", o.only, "the only " + std::string(Kind) + " to print; default: all");
  verb.add_flag("--json", o.json, "print JSON");
}

template <const char* Verb, const char* Kind>
bool register_list(int place, const std::string& example) {
  const std::string name = Verb;
  return register_verb(place, name, "list the " + name + " of experiment files, with their options", add_listed<Kind>,
                       list_components<Verb, Kind>, {.examples = {name, example}}) &&
         register_schema<ComponentsOutput<Verb>>(Verb, name + " --json");
}

const bool models_registered = register_list<kModels, kModel>(110, "models mlp");
const bool datasets_registered = register_list<kDatasets, kDataset>(120, "datasets csv");

}  // namespace

}  // namespace ddp::commands
