#include "commands/help.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/own_command.h"
#include "commands/commands.h"
#include "launch/library/libtorch.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::commands {

namespace {

// Returns the type of an option's value, or the name that stands for it in --help.
std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));  // CLI11 writes the limits behind it
}

// Returns the limits of a value, which CLI11 writes behind the colon: "INT:INT in [1 - 100]".
std::string limits_of(const std::string& type) {
  const std::size_t at = type.find(" in [");
  if (type.find("POSITIVE") != std::string::npos) return "above 0";
  if (type.find("NONNEGATIVE") != std::string::npos) return "at least 0";
  if (at == std::string::npos) return "";
  std::string limits = type.substr(at + 5, type.size() - at - 6);
  if (const std::size_t dash = limits.find(" - "); dash != std::string::npos) limits.replace(dash, 3, " to ");
  return "from " + limits;
}

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) {
    if (name.find('_') == std::string::npos) names.push_back("--" + name);
  }
  if (names.empty()) names.push_back(option.get_name(true));
  return names;
}

std::string accepted_by(const CLI::Option& option) {
  const std::string limits = limits_of(option.get_type_name());
  const std::string type = value_name(option);
  const bool is_integer = type == "INT" || type == "UINT" || type == "N";
  const std::string kind = is_integer ? "an integer" : type == "FLOAT" ? "a number" : "a value";
  return limits.empty() ? kind : kind + " " + limits;
}

std::string usage_of(const CLI::App& verb) {
  const bool is_program = verb.get_parent() == nullptr;
  std::string usage = own_command(is_program ? "COMMAND" : verb.get_name()) + " [options]";
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_positional()) continue;
    std::string name = option->get_name(true);
    if (option->get_expected_min() > 1) name += " " + name;
    if (option->get_expected_max() > 2) name += " ...";
    usage += " " + (option->get_required() ? name : "[" + name + "]");
  }
  return usage;
}

namespace {

constexpr std::size_t kTextColumn = 26;

// Returns "TEXT"; empty: the option takes no value.
std::string option_value(const CLI::Option& option) {
  if (option.get_positional() || option.get_items_expected_max() == 0) return "";
  const std::string type = value_name(option);
  if (type == "INT" || type == "UINT") return "N";
  return type == "FLOAT" ? "NUMBER" : type;
}

// Returns the option's description, with its limits, its default, and the options that it excludes.
std::string option_text(const CLI::Option& option) {
  std::vector<std::string> remarks;
  if (option.get_required() && option.nonpositional()) remarks.push_back("required");
  if (const std::string limits = limits_of(option.get_type_name()); !limits.empty()) remarks.push_back(limits);
  if (!option.get_default_str().empty()) remarks.push_back("default: " + option.get_default_str());
  for (const CLI::Option* other : option.get_excludes()) remarks.push_back("not with " + other->get_name());
  return option.get_description() + (remarks.empty() ? "" : " (" + report::joined(remarks, "; ") + ")");
}

// Returns a name with its description beside it, or below it if the name is long.
std::string entry(const std::string& name, const std::string& text) {
  std::string line = "  " + name;
  if (line.size() + 2 > kTextColumn)
    line += "\n" + std::string(kTextColumn, ' ');
  else
    line.resize(kTextColumn, ' ');
  return line + report::wrapped(text, kTextColumn);
}

class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const override {
    std::string text = report::wrapped(app->get_description(), 0) + "\nUsage: " + report::wrapped(usage_of(*app), 7) +
                       make_positionals(app) + make_groups(app, mode) + make_subcommands(app, mode) + make_footer(app);
    // The parser also writes an empty line after each group.
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
    return text;
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string text = "\n" + report::wrapped(group + ":", 0);
    for (const CLI::Option* option : options) text += make_option(option, is_positional);
    return text;
  }
  std::string make_option(const CLI::Option* option, bool) const override {
    std::string heading = report::joined(option_names(*option));
    if (const std::string value = option_value(*option); !value.empty()) heading += " " + value;
    return entry(heading, option_text(*option));
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return entry(verb->get_name(), verb->get_description());
  }
  std::string make_footer(const CLI::App* app) const override {
    if (app->get_parent() == nullptr) return "\n" + report::wrapped(app->get_footer(), 0);
    std::string text;
    for (const std::string& example : texts_of(*app).examples) {
      text += (text.empty() ? "\nExamples:\n" : "") + std::string("  ") + own_command(example) + "\n";
    }
    return text;
  }
};

}  // namespace

void give_help(CLI::App& app) {
  const auto help = std::make_shared<Help>();
  help->label("Positionals", "Arguments");
  app.formatter(help);
  for (const CLI::App* known : commands_of(app)) {
    CLI::App* verb = app.get_subcommand(known->get_name());
    verb->formatter(help);
    verb->group("Commands");
  }
}

namespace {

// Escapes a text so that troff prints it unchanged: "-" can be copied, and no line is taken for a request.
std::string for_troff(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    if ((plain.empty() || plain.back() == '\n') && (c == '.' || c == '\'')) plain += "\\&";
    if (c == '\\' || c == '-') plain += '\\';
    plain += c == '\\' ? 'e' : c;
  }
  return plain;
}

// Splits a text of several sentences into lines that stay short enough with the escapes of for_troff.
std::string paragraph(std::string text) {
  constexpr std::size_t kWidth = 64;
  for (std::size_t begin = 0; text.size() - begin > kWidth;) {
    std::size_t blank = text.rfind(' ', begin + kWidth);
    if (blank == std::string::npos || blank <= begin) blank = text.find(' ', begin + kWidth);
    if (blank == std::string::npos) break;
    text[blank] = '\n';
    begin = blank + 1;
  }
  return for_troff(text);
}

std::string in_bold(const std::string& text) { return "\\fB" + for_troff(text) + "\\fR"; }
std::string in_italics(const std::string& text) { return "\\fI" + for_troff(text) + "\\fR"; }

// "-o, --output TEXT".
std::string option_heading(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option_names(option)) names.push_back(in_bold(name));
  std::string heading = report::joined(names);
  if (const std::string value = option_value(option); !value.empty()) heading += " " + in_italics(value);
  return heading + (option.get_expected_max() > 1 ? " ..." : "");
}

void print_options(const CLI::App& app) {
  for (const std::string& group : app.get_groups()) {
    if (group.empty()) continue;  // hidden
    if (group != "Options") std::cout << ".PP\n" << paragraph(group + ":") << "\n";
    for (const CLI::Option* option : app.get_options()) {
      // Each command has --help; the page describes it once.
      const bool repeated = app.get_parent() != nullptr && option == app.get_help_ptr();
      if (option->get_group() != group || repeated) continue;
      std::cout << ".TP\n" << option_heading(*option) << "\n" << paragraph(option_text(*option)) << "\n";
    }
  }
}

void print_verb(const CLI::App& verb) {
  std::cout << ".SS " << for_troff(verb.get_name()) << "\n" << in_bold("ddp-exp " + verb.get_name());
  std::cout << " [" << in_italics("options") << "]";
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = in_italics(option->get_name(true)) + (option->get_expected_max() > 1 ? " ..." : "");
    std::cout << " " << (option->get_required() ? name : "[" + name + "]");
  }
  std::cout << "\n.PP\n" << paragraph(verb.get_description()) << "\n";
  print_options(verb);
  for (const std::string& example : texts_of(verb).examples) {
    std::cout << ".PP\n.EX\n" << for_troff("ddp-exp " + example) << "\n.EE\n";
  }
}

}  // namespace

void print_manual(const CLI::App& app, const std::string& date) {
  const std::string name = app.get_name();
  std::string about = app.get_description();
  if (about.starts_with(name + " ")) about.erase(0, name.size() + 1);
  std::cout << ".TH DDP\\-EXP 1 \"" << date << "\" \"" << for_troff(name + " " + launch::build_id())
            << "\" \"User Commands\"\n"
            << ".SH NAME\n"
            << for_troff(name) << " \\- " << paragraph(about) << "\n"
            << ".SH SYNOPSIS\n"
            << in_bold(name) << " " << in_italics("command") << " [" << in_italics("options") << "]\n"
            << ".SH OPTIONS\n";
  print_options(app);
  std::cout << ".SH COMMANDS\n";
  for (const CLI::App* verb : commands_of(app)) print_verb(*verb);
  std::cout << ".SH EXIT STATUS\n" << paragraph(app.get_footer()) << "\n";
}

}  // namespace ddp::commands
