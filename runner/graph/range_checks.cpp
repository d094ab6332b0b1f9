#include <cmath>
#include <vector>

#include <c10/core/ScalarType.h>

#include "graph/argument_rules.h"

namespace ddp::graph {
namespace {

// The kernel truncates the step to an integer before it divides by it.
void check_range(const CheckedArguments& given) {
  enum Argument : std::size_t { step, dtype };
  if (!given.has(step) || !given.has(dtype)) return;
  const auto type = static_cast<c10::ScalarType>(given.number(dtype));
  if (!c10::isIntegralType(type, /*includeBool=*/true)) return;
  const c10::Scalar wanted = given.scalar(step);
  given.require(!wanted.isComplex() && std::fabs(wanted.toDouble()) >= 1, step, "must be at least 1 for whole numbers");
}

}  // namespace

const std::vector<ArgumentRule>& range_rules() {
  static const std::vector<ArgumentRule> rules = {{{"arange"}, {"step", "dtype"}, check_range}};
  return rules;
}

}  // namespace ddp::graph
