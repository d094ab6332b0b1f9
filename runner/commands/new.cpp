#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/embedded.h"
#include "base/error.h"
#include "base/installation.h"
#include "base/own_command.h"
#include "commands/commands.h"
#include "config/check/suggest.h"
#include "config/components.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"
#include "report/text/words.h"

namespace ddp::commands {

extern const std::span<const EmbeddedFile> kTemplates;  // from runner/commands/templates: KIND.cpp.in and KIND.toml.in

namespace {

namespace fs = std::filesystem;

std::vector<std::string> template_kinds() {
  std::vector<std::string> kinds;
  for (const EmbeddedFile& file : kTemplates) {
    if (file.name.ends_with(".cpp.in")) kinds.emplace_back(file.name.substr(0, file.name.find('.')));
  }
  return kinds;
}

// Returns a type's name: "MyModel" for "my_model".
std::string type_name_of(const std::string& name) {
  std::string type;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') type += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return type;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

std::string filled(const std::string& file, const std::string& name) {
  const auto found = std::find_if(kTemplates.begin(), kTemplates.end(), [&](const auto& f) { return f.name == file; });
  std::string text(found->text);
  replace_all(text, "@name@", name);
  replace_all(text, "@Name@", type_name_of(name));
  // The digits as images, which the set-up makes.
  replace_all(text, "@images@", (cache_folder() / "data/digits_images").string());
  return text;
}

// The name appears in C++ and in file names.
void require_new_name(const std::string& kind, const std::string& name) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  if (name.find_first_not_of(letters + "0123456789_") != std::string::npos || name.find_first_of(letters) != 0) {
    throw usage_error(config::in_quotes(name) + " cannot be the name of a " + kind, "",
                      "use lower-case letters, digits and \"_\", with a letter first: my_" + kind);
  }
  if (config::Components::installed().find(kind, name) != nullptr) {
    throw usage_error("ddp-exp already has a " + kind + " called " + config::in_quotes(name), "",
                      "choose another name: my_" + name);
  }
}

// Refuses a kind without a template, as a check of CLI11, which comes before the search for missing words.
std::string require_kind(const std::string& kind) {
  const std::vector<std::string> kinds = template_kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return "";
  throw usage_error("no template for " + config::in_quotes(kind), "", config::suggestion(kind, kinds, "kinds"));
}

void write_new(const std::string& kind, const std::string& name) {
  require_new_name(kind, name);
  for (const char* ending : {".cpp", ".toml"}) {
    std::error_code none;
    if (!fs::exists(fs::symlink_status(name + ending, none))) continue;
    throw usage_error("exists, and is not overwritten", name + ending, "choose another name");
  }
  try {
    record::write_atomically(name + ".cpp", filled(kind + ".cpp.in", name));
    record::write_atomically(name + ".toml", filled(kind + ".toml.in", name));
  } catch (const Error& error) {
    throw usage_error(error.summary(), error.where(), "make the folder writable, or call this command in another one");
  }
  std::cout << name << ".cpp   the " << kind << ", for you to change\n"
            << name << ".toml  an experiment that uses it, of a few steps\n"
            << "to train it: " << own_command("run " + name + ".toml") << "\n";
}

struct NewOptions {
  std::string kind;
  std::string name;
};

void add_new(CLI::App& verb, NewOptions& o) {
  verb.add_option("KIND", o.kind, report::joined(template_kinds()))->required()->check(require_kind);
  verb.add_option("NAME", o.name, "name of the component and of its files")->required();
}

const bool new_registered =
    register_verb(105, "new", "write the C++ template of a model, dataset or another component, with an experiment",
                  add_new, [](const NewOptions& o) { write_new(o.kind, o.name); },
                  {.examples = {"new model my_model"}, .aliases = {"init", "create"}});

}  // namespace

}  // namespace ddp::commands
