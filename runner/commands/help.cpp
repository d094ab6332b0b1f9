#include "commands/help.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/own_command.h"
#include "commands/option_text.h"
#include "report/text/table.h"

namespace ddp::commands {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kTextColumn = 26;

// Breaks the text into lines between words. All lines except the first are indented. `used`: columns of the first line.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t used) {
  std::string lines;
  std::size_t column = used;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::size_t width = report::text_width(word);
    if (column > indent && column + 1 + width > kColumns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (begin > 0) {
      lines += " ";
      ++column;
    }
    lines += word;
    column += width;
    begin = end + 1;
  }
  return lines + "\n";
}

// Returns a name with its description beside it, or below it if the name is long.
std::string entry(const std::string& name, const std::string& text) {
  std::string line = "  " + name;
  if (line.size() + 2 > kTextColumn)
    return line + "\n" + std::string(kTextColumn, ' ') + wrapped(text, kTextColumn, kTextColumn);
  line.resize(kTextColumn, ' ');
  return line + wrapped(text, kTextColumn, kTextColumn);
}

class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    static_cast<void>(name);
    std::string text = wrapped(app->get_description(), 0, 0) + "\nUsage: " + wrapped(usage_of(*app), 7, 7) +
                       make_positionals(app) + make_groups(app, mode) + make_subcommands(app, mode) + make_footer(app);
    // The parser also writes an empty line after each group.
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
    return text;
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string text = "\n" + wrapped(group + ":", 0, 0);
    for (const CLI::Option* option : options) text += make_option(option, is_positional);
    return text;
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    static_cast<void>(is_positional);
    std::string heading;
    for (const std::string& name : option_names(*option)) heading += (heading.empty() ? "" : ", ") + name;
    if (const std::string value = option_value(*option); !value.empty()) heading += " " + value;
    return entry(heading, option_text(*option));
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return entry(verb->get_name(), verb->get_description());
  }
  std::string make_footer(const CLI::App* app) const override {
    if (app->get_parent() == nullptr) return "\n" + wrapped(app->get_footer(), 0, 0);
    std::string text;
    for (const std::string& example : examples_of(app->get_name())) {
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
  for (const CLI::App* known : std::as_const(app).get_subcommands([](const CLI::App*) { return true; })) {
    CLI::App* verb = app.get_subcommand(known->get_name());
    verb->formatter(help);
    verb->group("Commands");
  }
}

}  // namespace ddp::commands
