#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "commands/commands.h"
#include "config/check/phrases.h"
#include "config/components.h"
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

// `only`: the name of one component; empty: all.
void list(const std::string& verb_name, const std::string& kind, const std::string& only, bool json) {
  const config::Components components = config::Components::installed();
  std::vector<std::string> names;
  for (const auto& [name, spec] : components.of(kind)) names.push_back(name);
  if (!only.empty() && components.find(kind, only) == nullptr) {
    throw usage_error("there is no " + kind + " " + config::in_quotes(only), verb_name,
                      config::suggestion(only, names, "every " + kind));
  }
  config::Value specs = config::Value::array();
  for (const auto& [name, spec] : components.of(kind)) {
    if (!only.empty() && name != only) continue;
    if (json) {
      specs.push_back(config::to_json(spec));
    } else {
      print(spec, std::cout);
    }
  }
  if (json) std::cout << config::Value{{"version", 1}, {verb_name, std::move(specs)}}.dump(2) << "\n";
}

void add_list(CLI::App& app, int& exit_code, const std::string& verb_name, const std::string& kind) {
  CLI::App* verb = app.add_subcommand(verb_name, "list the " + verb_name + " of experiment files, with their options");
  auto json = std::make_shared<bool>(false);
  auto only = std::make_shared<std::string>();
  verb->add_option("NAME", *only, "the only " + kind + " to print; default: all");
  verb->add_flag("--json", *json, "print JSON");
  verb->callback([json, only, verb_name, kind, &exit_code] {
    list(verb_name, kind, *only, *json);
    exit_code = 0;
  });
}

void add_models(CLI::App& app, int& exit_code) { add_list(app, exit_code, "models", "model"); }

const bool models_registered = register_verb(110, add_models);

void add_datasets(CLI::App& app, int& exit_code) { add_list(app, exit_code, "datasets", "dataset"); }

const bool datasets_registered = register_verb(120, add_datasets);

}  // namespace

}  // namespace ddp::commands
