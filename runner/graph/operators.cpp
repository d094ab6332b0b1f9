#include "graph/operators.h"

#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_set>

#include "base/embedded.h"

namespace ddp::graph {

extern const std::span<const EmbeddedFile> kOperators;  // python/operators.txt

namespace {

constexpr const char* kDraw =
    " bernoulli cauchy exponential geometric log_normal multinomial normal poisson rand rand_like randint randint_like"
    " randn randn_like random randperm uniform ";

constexpr const char* kReshape = " as_strided_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_ ";

using Names = std::unordered_set<std::string>;

// Returns the words of a text, without the lines that begin with "#".
Names names_in(std::string_view list) {
  Names names;
  std::istringstream lines{std::string(list)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    names.insert(std::istream_iterator<std::string>(words), {});
  }
  return names;
}

bool holds_operator(const Names& names, std::string_view name) {
  if (names.contains(std::string(name))) return true;
  return name.ends_with('_') && !name.ends_with("__") && names.contains(std::string(name.substr(0, name.size() - 1)));
}

}  // namespace

bool is_allowed(std::string_view name) {
  static const Names names = names_in(kOperators.front().text);
  return holds_operator(names, name);
}

bool draws(std::string_view name) {
  static const Names names = names_in(kDraw);
  return holds_operator(names, name);
}

bool reshapes_in_place(std::string_view name) {
  static const Names names = names_in(kReshape);
  return names.contains(std::string(name));
}

namespace {

using c10::IValue;

// A truth value counts as 0 or 1 in sums.
std::int64_t whole(const IValue& value) {
  return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}
double real(const IValue& value) { return value.isDouble() ? value.toDouble() : static_cast<double>(whole(value)); }

[[noreturn]] void too_large() { throw std::runtime_error("a size is too large"); }

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) too_large();
  return result;
}

std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) too_large();
  return result;
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) too_large();
  return result;
}

// Rounds towards minus infinity, as Python does.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) throw std::runtime_error("a size is divided by zero");
  if (b == -1) return product(a, -1);
  return a / b - static_cast<std::int64_t>(a % b != 0 && (a % b < 0) != (b < 0));
}

std::int64_t modulo(std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a - floor_quotient(a, b) * b; }

double divide(double a, double b) {
  if (b == 0) throw std::runtime_error("a size is divided by zero");
  return a / b;
}

IValue power(const IValue& base, const IValue& exponent) {
  if (base.isDouble() || exponent.isDouble() || whole(exponent) < 0) return std::pow(real(base), real(exponent));
  std::int64_t result = 1;
  std::int64_t square = whole(base);
  for (std::int64_t rest = whole(exponent); rest > 0; rest /= 2) {
    if (rest % 2 == 1) result = product(result, square);
    if (rest > 1) square = product(square, square);
  }
  return result;
}

std::int64_t rounded(double value) {
  if (!(std::fabs(value) < 0x1p62)) too_large();
  return static_cast<std::int64_t>(value);
}

// The arguments of a function. Throws if the graph gives too few.
class Given {
 public:
  explicit Given(const std::vector<IValue>& arguments) : arguments_(arguments) {}

  const IValue& operator[](std::size_t i) const {
    if (i >= arguments_.size()) throw std::runtime_error("a number is missing");
    return arguments_[i];
  }
  double real_at(std::size_t i) const { return real((*this)[i]); }

  // Applies `of_whole` to two integers, and `of_real` if one of them is a float.
  template <class Whole, class Real>
  IValue apply(Whole of_whole, Real of_real) const {
    const IValue& a = (*this)[0];
    const IValue& b = (*this)[1];
    if (a.isDouble() || b.isDouble()) return of_real(real(a), real(b));
    return of_whole(whole(a), whole(b));
  }

 private:
  const std::vector<IValue>& arguments_;
};

// Makes a function of the list's form from a function of Given.
template <class Function>
constexpr CallList::Arithmetic of_given(Function) {
  return [](const std::vector<IValue>& arguments) -> IValue { return Function()(Given(arguments)); };
}

const std::map<std::string, CallList::Arithmetic, std::less<>>& functions() {
  static const std::map<std::string, CallList::Arithmetic, std::less<>> all = {
      {"_operator.add", of_given([](const Given& a) { return a.apply(sum, std::plus<double>()); })},
      {"_operator.sub", of_given([](const Given& a) { return a.apply(difference, std::minus<double>()); })},
      {"_operator.mul", of_given([](const Given& a) { return a.apply(product, std::multiplies<double>()); })},
      {"_operator.floordiv", of_given([](const Given& given) {
         return given.apply(floor_quotient, [](double a, double b) { return std::floor(a / b); });
       })},
      {"_operator.mod", of_given([](const Given& given) {
         return given.apply(modulo, [](double a, double b) { return a - std::floor(a / b) * b; });
       })},
      {"_operator.truediv", of_given([](const Given& a) { return divide(a.real_at(0), a.real_at(1)); })},
      {"_operator.pow", of_given([](const Given& a) { return power(a[0], a[1]); })},
      {"_operator.neg", of_given([](const Given& a) {
         return a[0].isDouble() ? IValue(-a[0].toDouble()) : IValue(product(whole(a[0]), -1));
       })},
      {"_operator.eq", of_given([](const Given& a) { return a.real_at(0) == a.real_at(1); })},
      {"_operator.ne", of_given([](const Given& a) { return a.real_at(0) != a.real_at(1); })},
      {"_operator.lt", of_given([](const Given& a) { return a.real_at(0) < a.real_at(1); })},
      {"_operator.le", of_given([](const Given& a) { return a.real_at(0) <= a.real_at(1); })},
      {"_operator.gt", of_given([](const Given& a) { return a.real_at(0) > a.real_at(1); })},
      {"_operator.ge", of_given([](const Given& a) { return a.real_at(0) >= a.real_at(1); })},
      {"_operator.and_", of_given([](const Given& a) { return a.real_at(0) != 0 && a.real_at(1) != 0; })},
      {"_operator.or_", of_given([](const Given& a) { return a.real_at(0) != 0 || a.real_at(1) != 0; })},
      {"math.floor", of_given([](const Given& a) { return rounded(std::floor(a.real_at(0))); })},
      {"math.ceil", of_given([](const Given& a) { return rounded(std::ceil(a.real_at(0))); })},
      {"math.trunc", of_given([](const Given& a) { return rounded(a.real_at(0)); })},
      {"torch.sym_float", of_given([](const Given& a) { return a.real_at(0); })},
      {"torch.sym_int", of_given([](const Given& a) { return rounded(a.real_at(0)); })},
      {"torch.sym_ite", of_given([](const Given& a) { return a[0].toBool() ? a[1] : a[2]; })},
      {"torch.sym_max", of_given([](const Given& a) { return a.real_at(0) >= a.real_at(1) ? a[0] : a[1]; })},
      {"torch.sym_min", of_given([](const Given& a) { return a.real_at(0) <= a.real_at(1) ? a[0] : a[1]; })},
      {"torch.sym_not", of_given([](const Given& a) { return a.real_at(0) == 0; })},
      {"torch._sym_sqrt", of_given([](const Given& a) { return std::sqrt(a.real_at(0)); })},
      {"torch.ops.aten.sym_numel.default", of_given([](const Given& a) { return a[0].toTensor().numel(); })},
      {"torch.ops.aten.sym_size.int", of_given([](const Given& a) { return a[0].toTensor().size(a[1].toInt()); })},
      {"torch.ops.aten.sym_stride.int", of_given([](const Given& a) { return a[0].toTensor().stride(a[1].toInt()); })},
  };
  return all;
}

}  // namespace

CallList::Arithmetic arithmetic_named(std::string_view target) {
  const auto found = functions().find(target);
  return found == functions().end() ? nullptr : found->second;
}

}  // namespace ddp::graph
