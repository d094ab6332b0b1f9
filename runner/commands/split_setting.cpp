#include "commands/split_setting.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/own_command.h"
#include "config/text/source.h"

namespace ddp::commands {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kOption = "--set";

// The words of a setting as the shell passed them, and the setting as it was meant.
struct Split {
  std::string words;
  std::string meant;
};

// "--set", "-v"; not "-1".
bool is_option(const std::string& word) {
  return word.starts_with("--") ||
         (word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])));
}

// Is this a value that hardly names a file or a run: a number, true, false, a list, a table or a quoted text?
bool is_plain_value(const std::string& word) {
  if (word.empty() || word == "true" || word == "false") return true;
  if (std::string_view("[{\"'").find(word.front()) != std::string_view::npos) return true;
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  return end != word.c_str() && *end == '\0';
}

bool names_file(const std::string& word) {
  std::error_code unreadable;
  return std::filesystem::exists(word, unreadable);
}

// Returns the number of brackets that the text opens and does not close, outside of quotes.
int open_brackets(const std::string& text) {
  int open = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else {
      open += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    }
  }
  return open;
}

// Joins the words of a list or a table that the shell has split after a comma.
std::optional<Split> split_list(const Words& words, std::size_t at) {
  std::string joined = words[at];
  for (std::size_t next = at + 1; open_brackets(joined) > 0; ++next) {
    if (next == words.size() || is_option(words[next])) return std::nullopt;
    joined += " " + words[next];
  }
  return Split{.words = joined, .meant = joined};
}

// `at`: the place of the setting's first word. Returns nothing for a setting that is one word.
std::optional<Split> split_at(const Words& words, std::size_t at) {
  const std::string& first = words[at];
  const auto word = [&](std::size_t after) {
    return at + after < words.size() && !is_option(words[at + after]) ? words[at + after] : "";
  };
  const std::string second = word(1);
  if (second.empty()) return std::nullopt;
  const std::string whole = first + " " + second;
  const std::size_t equals = first.find('=');
  if (equals == std::string::npos) {
    const std::string third = word(2);
    if (second == "=" && third.empty()) return Split{.words = whole, .meant = first + "=VALUE"};
    if (second == "=") return Split{.words = whole + " " + third, .meant = first + "=" + third};
    if (second.starts_with('=')) return Split{.words = whole, .meant = first + second};
    return is_plain_value(second) ? std::optional(Split{.words = whole, .meant = first + "=" + second}) : std::nullopt;
  }
  if (equals + 1 < first.size()) return open_brackets(first) > 0 ? split_list(words, at) : std::nullopt;
  return names_file(second) ? std::nullopt : std::optional(Split{.words = whole, .meant = first + second});
}

const CLI::App* verb_named(const CLI::App& app, const std::string& name) {
  const auto verbs = app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; });
  return verbs.empty() ? nullptr : verbs.front();
}

}  // namespace

void require_whole_settings(const CLI::App& app, const Words& words) {
  const CLI::App* const verb = words.empty() ? nullptr : verb_named(app, words.front());
  if (verb == nullptr || verb->get_option_no_throw(std::string(kOption)) == nullptr) return;
  Words line = words;
  for (std::size_t i = 1; i < line.size() && line[i] != "--"; ++i) {
    std::size_t at = i + 1;
    if (line[i].starts_with(std::string(kOption) + "=")) {
      line[i].erase(0, kOption.size() + 1);
      at = i;
    } else if (line[i] != kOption || at == line.size()) {
      continue;
    }
    if (is_option(line[at]) && line[at].find('=') == std::string::npos) {
      throw usage_error("--set needs a value", verb->get_name(), "it takes key=value, such as --set optimizer.lr=0.1");
    }
    if (const auto split = split_at(line, at)) {
      throw usage_error("the setting " + config::in_quotes(split->words) + " is not one word", verb->get_name(),
                        "write it without blanks, or in single quotes: --set " + shell_word(split->meant));
    }
    i = at;
  }
}

}  // namespace ddp::commands
