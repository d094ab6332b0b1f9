#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "commands/option_text.h"
#include "launch/library/version.h"

namespace ddp::commands {
namespace {

// Escapes a text so that troff prints it unchanged: "-" can be copied, and no line is taken for a request.
std::string for_troff(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    const bool begins_line = plain.empty() || plain.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) plain += "\\&";
    if (c == '\\') {
      plain += "\\e";
    } else if (c == '-') {
      plain += "\\-";
    } else {
      plain += c;
    }
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
  std::string heading;
  for (const std::string& name : option_names(option)) heading += (heading.empty() ? "" : ", ") + in_bold(name);
  if (const std::string value = option_value(option); !value.empty()) heading += " " + in_italics(value);
  return heading + (option.get_expected_max() > 1 ? " ..." : "");
}

void print_options(const CLI::App& app, const std::string& group) {
  for (const CLI::Option* option : app.get_options()) {
    // Each command has --help; the page describes it once.
    const bool repeated = app.get_parent() != nullptr && option == app.get_help_ptr();
    if (option->get_group() != group || repeated) continue;
    std::cout << ".TP\n" << option_heading(*option) << "\n" << paragraph(option_text(*option)) << "\n";
  }
}

void print_all_options(const CLI::App& app) {
  for (const std::string& group : app.get_groups()) {
    if (group.empty()) continue;  // hidden
    if (group != "Options") std::cout << ".PP\n" << paragraph(group + ":") << "\n";
    print_options(app, group);
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
  print_all_options(verb);
  for (const std::string& example : examples_of(verb.get_name())) {
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
  print_all_options(app);
  std::cout << ".SH COMMANDS\n";
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) print_verb(*verb);
  std::cout << ".SH EXIT STATUS\n" << paragraph(app.get_footer()) << "\n";
}

}  // namespace ddp::commands
