#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "commands/commands.h"
#include "config/check/check.h"
#include "config/suggest.h"
#include "config/components.h"
#include "config/output.h"
#include "config/text/source.h"
#include "report/text/table.h"

namespace ddp::commands {
namespace {

std::string default_of(const config::Option& option) {
  if (option.required) return "required";
  return option.default_value.is_null() ? "" : "= " + option.default_value.dump();
}

void print(const config::Spec& spec, std::ostream& out) {
  out << spec.name << (spec.doc.empty() ? "" : ": " + spec.doc) << "\n";
  report::Table options;
  for (const config::Option& option : spec.options) {
    options.row({option.name, default_of(option), config::expected(option), option.doc});
  }
  options.print(out, {}, "    ");
  for (const config::Option& option : spec.options) {
    for (const config::Spec& variant : option.variants) {
      out << "      type " << variant.name << (variant.doc.empty() ? "" : ": " + variant.doc) << "\n";
      report::Table arguments;
      for (const config::Option& argument : variant.options) {
        arguments.row({argument.name, default_of(argument), config::expected(argument), argument.doc});
      }
      arguments.print(out, {}, "          ");
    }
  }
}

template <const char* Verb>
struct ComponentsOutput {
  std::vector<config::Spec> specs;

  void members(config::Members& m) const {
    m.version();
    m({Verb}, specs);
  }
};

constexpr char kModels[] = "models";
constexpr char kDatasets[] = "datasets";

template <const char* Verb>
config::Value components_schema() {
  return config::output_schema<ComponentsOutput<Verb>>(Verb + std::string(" --json"));
}

// `only`: the name of one component; empty: all.
template <const char* Verb>
void list(const std::string& kind, const std::string& only, bool json) {
  const config::Components components = config::Components::installed();
  std::vector<std::string> names;
  for (const auto& [name, spec] : components.of(kind)) names.push_back(name);
  if (!only.empty() && components.find(kind, only) == nullptr) {
    throw usage_error("there is no " + kind + " " + config::in_quotes(only), Verb,
                      config::suggestion(only, names, "every " + kind));
  }
  ComponentsOutput<Verb> all;
  for (const auto& [name, spec] : components.of(kind)) {
    if (!only.empty() && name != only) continue;
    if (json) {
      all.specs.push_back(spec);
    } else {
      print(spec, std::cout);
    }
  }
  if (json) std::cout << config::written(all).dump(2) << "\n";
}

template <const char* Verb>
void add_list(CLI::App& app, int& exit_code, const std::string& kind) {
  const std::string verb_name = Verb;
  CLI::App* verb = app.add_subcommand(verb_name, "list the " + verb_name + " of experiment files, with their options");
  auto json = std::make_shared<bool>(false);
  auto only = std::make_shared<std::string>();
  verb->add_option("NAME", *only, "the only " + kind + " to print; default: all");
  verb->add_flag("--json", *json, "print JSON");
  verb->callback([json, only, kind, &exit_code] {
    list<Verb>(kind, *only, *json);
    exit_code = 0;
  });
}

void add_models(CLI::App& app, int& exit_code) { add_list<kModels>(app, exit_code, "model"); }

const bool models_registered = register_verb(110, add_models) && register_schema(kModels, components_schema<kModels>);

void add_datasets(CLI::App& app, int& exit_code) { add_list<kDatasets>(app, exit_code, "dataset"); }

const bool datasets_registered =
    register_verb(120, add_datasets) && register_schema(kDatasets, components_schema<kDatasets>);

}  // namespace

}  // namespace ddp::commands
