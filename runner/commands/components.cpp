#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "config/components.h"
#include "config/phrases.h"

namespace ddp::commands {
namespace {

// Columns that are as wide as their widest entry; the last one takes what is left.
class Columns {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  void print(std::ostream& out, const std::string& indent) const {
    std::vector<std::size_t> widths;
    for (const auto& cells : rows_) {
      widths.resize(std::max(widths.size(), cells.size()));
      for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
    }
    for (const auto& cells : rows_) {
      std::string line = indent;
      for (std::size_t i = 0; i < cells.size(); ++i)
        line += cells[i] + std::string(widths[i] - cells[i].size() + 2, ' ');
      out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string default_of(const config::Option& option) {
  if (option.required) return "required";
  return option.default_value.is_null() ? "" : "= " + option.default_value.dump();
}

void print(const config::Spec& spec, std::ostream& out) {
  out << spec.name << (spec.doc.empty() ? "" : ": " + spec.doc) << "\n";
  Columns options;
  for (const config::Option& option : spec.options) {
    options.row({option.name, default_of(option), config::expected(option), option.doc});
  }
  options.print(out, "    ");
  for (const config::Option& option : spec.options) {
    for (const config::Spec& variant : option.variants) {
      out << "      type " << variant.name << (variant.doc.empty() ? "" : ": " + variant.doc) << "\n";
      Columns arguments;
      for (const config::Option& argument : variant.options) {
        arguments.row({argument.name, default_of(argument), config::expected(argument), argument.doc});
      }
      arguments.print(out, "          ");
    }
  }
}

void list(const std::string& kind, bool json) {
  const config::Components components = config::Components::installed();
  config::Value specs = config::Value::array();
  for (const auto& [name, spec] : components.of(kind)) {
    if (json) {
      specs.push_back(config::to_json(spec));
    } else {
      print(spec, std::cout);
    }
  }
  if (json) std::cout << specs.dump(2) << "\n";
}

void add_list(CLI::App& app, int& exit_code, const std::string& verb_name, const std::string& kind) {
  CLI::App* verb = app.add_subcommand(verb_name, "list the " + verb_name + " that a file can name, with their options");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "print them as JSON");
  verb->callback([json, kind, &exit_code] {
    list(kind, *json);
    exit_code = 0;
  });
}

}  // namespace

void add_models(CLI::App& app, int& exit_code) { add_list(app, exit_code, "models", "model"); }

void add_datasets(CLI::App& app, int& exit_code) { add_list(app, exit_code, "datasets", "dataset"); }

}  // namespace ddp::commands
