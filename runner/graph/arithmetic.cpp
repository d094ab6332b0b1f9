#include "graph/arithmetic.h"

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

namespace ddp::graph {
namespace {

using c10::IValue;
using Arguments = std::vector<IValue>;

const IValue& argument(const Arguments& arguments, std::size_t i) {
  if (i >= arguments.size()) throw std::runtime_error("a number is missing");
  return arguments[i];
}

// A truth value counts as 0 or 1 in sums.
std::int64_t whole(const IValue& value) {
  return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}
double real(const IValue& value) { return value.isDouble() ? value.toDouble() : static_cast<double>(whole(value)); }

[[noreturn]] void too_large() { throw std::runtime_error("a size is too large"); }

// Applies `of_whole` to integers, and `of_real` if one of the two arguments is a float.
template <class Whole, class Real>
IValue apply(const Arguments& arguments, Whole of_whole, Real of_real) {
  const IValue& a = argument(arguments, 0);
  const IValue& b = argument(arguments, 1);
  if (a.isDouble() || b.isDouble()) return of_real(real(a), real(b));
  return of_whole(whole(a), whole(b));
}

IValue add(const Arguments& arguments) {
  return apply(
      arguments,
      [](std::int64_t a, std::int64_t b) {
        std::int64_t sum = 0;
        if (__builtin_add_overflow(a, b, &sum)) too_large();
        return sum;
      },
      [](double a, double b) { return a + b; });
}

IValue subtract(const Arguments& arguments) {
  return apply(
      arguments,
      [](std::int64_t a, std::int64_t b) {
        std::int64_t difference = 0;
        if (__builtin_sub_overflow(a, b, &difference)) too_large();
        return difference;
      },
      [](double a, double b) { return a - b; });
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) too_large();
  return result;
}

IValue multiply(const Arguments& arguments) {
  return apply(arguments, product, [](double a, double b) { return a * b; });
}

// Rounds towards minus infinity, as Python does.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) throw std::runtime_error("a size is divided by zero");
  if (b == -1) return product(a, -1);
  return a / b - static_cast<std::int64_t>(a % b != 0 && (a % b < 0) != (b < 0));
}

IValue floor_divide(const Arguments& arguments) {
  return apply(arguments, floor_quotient, [](double a, double b) { return std::floor(a / b); });
}

IValue modulo(const Arguments& arguments) {
  return apply(
      arguments, [](std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a - floor_quotient(a, b) * b; },
      [](double a, double b) { return a - std::floor(a / b) * b; });
}

IValue divide(const Arguments& arguments) {
  const double by = real(argument(arguments, 1));
  if (by == 0) throw std::runtime_error("a size is divided by zero");
  return real(argument(arguments, 0)) / by;
}

IValue power(const Arguments& arguments) {
  const IValue& base = argument(arguments, 0);
  const IValue& exponent = argument(arguments, 1);
  if (base.isDouble() || exponent.isDouble() || whole(exponent) < 0) return std::pow(real(base), real(exponent));
  std::int64_t result = 1;
  std::int64_t square = whole(base);
  for (std::int64_t rest = whole(exponent); rest > 0; rest /= 2) {
    if (rest % 2 == 1) result = product(result, square);
    if (rest > 1) square = product(square, square);
  }
  return result;
}

IValue negate(const Arguments& arguments) {
  const IValue& value = argument(arguments, 0);
  return value.isDouble() ? IValue(-value.toDouble()) : IValue(product(whole(value), -1));
}

IValue equals(const Arguments& a) { return real(argument(a, 0)) == real(argument(a, 1)); }
IValue differs(const Arguments& a) { return real(argument(a, 0)) != real(argument(a, 1)); }
IValue less(const Arguments& a) { return real(argument(a, 0)) < real(argument(a, 1)); }
IValue at_most(const Arguments& a) { return real(argument(a, 0)) <= real(argument(a, 1)); }
IValue greater(const Arguments& a) { return real(argument(a, 0)) > real(argument(a, 1)); }
IValue at_least(const Arguments& a) { return real(argument(a, 0)) >= real(argument(a, 1)); }
IValue both(const Arguments& a) { return real(argument(a, 0)) != 0 && real(argument(a, 1)) != 0; }
IValue either(const Arguments& a) { return real(argument(a, 0)) != 0 || real(argument(a, 1)) != 0; }
IValue negated(const Arguments& a) { return real(argument(a, 0)) == 0; }
IValue greatest(const Arguments& a) { return at_least(a).toBool() ? argument(a, 0) : argument(a, 1); }
IValue least(const Arguments& a) { return at_most(a).toBool() ? argument(a, 0) : argument(a, 1); }
IValue chosen(const Arguments& a) { return argument(a, 0).toBool() ? argument(a, 1) : argument(a, 2); }
IValue to_real(const Arguments& a) { return real(argument(a, 0)); }
IValue square_root(const Arguments& a) { return std::sqrt(real(argument(a, 0))); }

std::int64_t rounded(double value) {
  if (!(std::fabs(value) < 0x1p62)) too_large();
  return static_cast<std::int64_t>(value);
}
IValue floor_of(const Arguments& a) { return rounded(std::floor(real(argument(a, 0)))); }
IValue ceiling_of(const Arguments& a) { return rounded(std::ceil(real(argument(a, 0)))); }
IValue truncated(const Arguments& a) { return rounded(real(argument(a, 0))); }

IValue size_of(const Arguments& a) { return argument(a, 0).toTensor().size(argument(a, 1).toInt()); }
IValue stride_of(const Arguments& a) { return argument(a, 0).toTensor().stride(argument(a, 1).toInt()); }
IValue elements_of(const Arguments& a) { return argument(a, 0).toTensor().numel(); }

const std::map<std::string, CallList::Arithmetic, std::less<>>& functions() {
  static const std::map<std::string, CallList::Arithmetic, std::less<>> all = {
      {"_operator.add", add},
      {"_operator.sub", subtract},
      {"_operator.mul", multiply},
      {"_operator.floordiv", floor_divide},
      {"_operator.mod", modulo},
      {"_operator.truediv", divide},
      {"_operator.pow", power},
      {"_operator.neg", negate},
      {"_operator.eq", equals},
      {"_operator.ne", differs},
      {"_operator.lt", less},
      {"_operator.le", at_most},
      {"_operator.gt", greater},
      {"_operator.ge", at_least},
      {"_operator.and_", both},
      {"_operator.or_", either},
      {"math.floor", floor_of},
      {"math.ceil", ceiling_of},
      {"math.trunc", truncated},
      {"torch.sym_float", to_real},
      {"torch.sym_int", truncated},
      {"torch.sym_ite", chosen},
      {"torch.sym_max", greatest},
      {"torch.sym_min", least},
      {"torch.sym_not", negated},
      {"torch._sym_sqrt", square_root},
      {"torch.ops.aten.sym_numel.default", elements_of},
      {"torch.ops.aten.sym_size.int", size_of},
      {"torch.ops.aten.sym_stride.int", stride_of},
  };
  return all;
}

}  // namespace

CallList::Arithmetic arithmetic_named(std::string_view target) {
  const auto found = functions().find(target);
  return found == functions().end() ? nullptr : found->second;
}

}  // namespace ddp::graph
