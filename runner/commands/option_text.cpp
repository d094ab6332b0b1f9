#include "commands/option_text.h"

#include <map>

#include <CLI/CLI.hpp>

#include "base/own_command.h"

namespace ddp::commands {
namespace {

// The name in --help for the text that an option takes.
const std::map<std::string, std::string> kTexts = {
    {"--set", "KEY=VALUE"},      {"--name", "NAME"},       {"--results", "FOLDER"},    {"--run-id", "ID"},
    {"--output", "FILE"},        {"--from", "CHECKPOINT"}, {"--init-from", "WEIGHTS"}, {"--master-addr", "HOST"},
    {"--rdzv-endpoint", "HOST"}, {"--status", "STATUS"},   {"--where", "CONDITION"},   {"--sort", "KEY"},
    {"--time", "TIME"},          {"--job-name", "NAME"},
};

// Returns the limits of a value, which CLI11 writes behind the colon: "INT:INT in [1 - 100]".
std::string limits_of(const std::string& type) {
  const std::size_t at = type.find(" in [");
  if (at == std::string::npos) return type.find("POSITIVE") == std::string::npos ? "" : "above 0";
  std::string limits = type.substr(at + 5, type.size() - at - 6);
  if (const std::size_t dash = limits.find(" - "); dash != std::string::npos) limits.replace(dash, 3, " to ");
  return "from " + limits;
}

}  // namespace

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) {
    if (name.find('_') == std::string::npos) names.push_back("--" + name);
  }
  if (names.empty()) names.push_back(option.get_name(true));
  return names;
}

std::string option_value(const CLI::Option& option) {
  if (option.get_positional() || option.get_items_expected_max() == 0) return "";
  const std::string given = option.get_type_name();
  const std::string type = given.substr(0, given.find(':'));
  if (type == "INT" || type == "UINT") return "N";
  if (type == "FLOAT") return "NUMBER";
  const auto known = kTexts.find(option_names(option).back());
  return type != "TEXT" || known == kTexts.end() ? type : known->second;
}

std::string accepted_by(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string limits = limits_of(type);
  const bool is_integer = type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("N");
  const std::string kind = is_integer ? "an integer" : type.starts_with("FLOAT") ? "a number" : "a value";
  return limits.empty() ? kind : kind + " " + limits;
}

std::string option_text(const CLI::Option& option) {
  std::vector<std::string> remarks;
  if (option.get_required() && option.nonpositional()) remarks.push_back("required");
  if (const std::string limits = limits_of(option.get_type_name()); !limits.empty()) remarks.push_back(limits);
  if (!option.get_default_str().empty()) remarks.push_back("default: " + option.get_default_str());
  for (const CLI::Option* other : option.get_excludes()) remarks.push_back("not with " + other->get_name());
  if (remarks.empty()) return option.get_description();
  std::string text = option.get_description() + " (";
  for (std::size_t i = 0; i < remarks.size(); ++i) text += (i == 0 ? "" : "; ") + remarks[i];
  return text + ")";
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

}  // namespace ddp::commands
