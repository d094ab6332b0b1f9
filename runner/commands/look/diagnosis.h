#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "commands/look/machine.h"
#include "config/option/fields.h"
#include "report/text/table.h"

namespace ddp::commands {

// One line of `doctor` about the machine.
struct Finding {
  std::string group = {}, name = {};
  std::string state = {};  // fact, good, slow or broken
  std::string text = {};
  std::string advice = {};           // what to do about it; "" for facts and what is good
  std::optional<double> value = {};  // in bytes, seconds, or a count

  void fields(config::Fields& f) {
    f({"group"}, group);
    f({"name"}, name);
    f({.name = "state", .choices = {"fact", "good", "slow", "broken"}}, state);
    f({"text"}, text);
    f({.name = "advice", .doc = "what to do about it", .optional = true}, advice);
    f({.name = "value", .doc = "in bytes, seconds, or a count", .optional = true}, value);
  }
};

// Judges the facts, in the order of the page. All texts are printable.
std::vector<Finding> judge(const Machine& machine);

// Returns whether something is broken: training does not start, or fails.
bool any_broken(const std::vector<Finding>& findings);

// Prints the page. No line is longer than the terminal's width, if that is at least 40.
void print_findings(const std::vector<Finding>& findings, std::ostream& out, const report::Terminal& terminal);

}  // namespace ddp::commands
