#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

// Checks of arguments that LibTorch's kernels trust: bad values would make them read or write beyond a tensor, or
// divide by zero, which ends the process. Kernels that throw for bad arguments need no check here.
namespace ddp::graph {

// An argument that would crash the operator's kernel.
struct BadArgument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The arguments that a check reads, numbered as in its rule.
class CheckedArguments {
 public:
  CheckedArguments(const std::string& operation, const std::vector<std::string_view>& names,
                   const std::vector<std::int32_t>& places, const std::vector<c10::IValue>& stack)
      : operation_(operation), names_(names), places_(places), stack_(stack) {}

  // Is the argument given? False for None and for arguments of another overload.
  bool has(std::size_t i) const { return places_[i] >= 0 && !value(i).isNone(); }

  bool is_text(std::size_t i) const { return value(i).isString(); }

  // These require a given argument and throw BadArgument if its type differs.
  const at::Tensor& tensor(std::size_t i) const;
  std::vector<at::Tensor> tensors(std::size_t i) const;  // of a list, or one tensor
  std::vector<std::int64_t> numbers(std::size_t i) const;
  std::vector<double> reals(std::size_t i) const;  // of a list, or one number
  std::int64_t number(std::size_t i) const;
  bool flag(std::size_t i) const;
  c10::Scalar scalar(std::size_t i) const;

  // Throws BadArgument if the condition is false: "aten.lstm: `params` must hold 4 tensors".
  void require(bool holds, std::size_t i, const char* rule) const {
    if (!holds) refuse(i, rule);
  }
  [[noreturn]] void refuse(std::size_t i, const std::string& rule) const;

 private:
  const c10::IValue& value(std::size_t i) const { return stack_[static_cast<std::size_t>(places_[i])]; }

  const std::string& operation_;
  const std::vector<std::string_view>& names_;
  const std::vector<std::int32_t>& places_;
  const std::vector<c10::IValue>& stack_;
};

// A check of some operators and the arguments that it reads, by their names in ATen's schema.
struct ArgumentRule {
  std::string_view operations;  // without overload, between blanks: " rnn_tanh rnn_relu "
  std::vector<std::string_view> arguments;
  void (*check)(const CheckedArguments&);
};

// The check of one operator's calls. The constructor looks up the arguments once.
class ArgumentCheck {
 public:
  // No check: the operator itself checks all of its arguments.
  ArgumentCheck() = default;
  explicit ArgumentCheck(const c10::FunctionSchema& schema);

  explicit operator bool() const { return rule_ != nullptr; }
  // Throws BadArgument if the operator must not be called with these arguments: one for each argument of its schema.
  void operator()(const std::vector<c10::IValue>& arguments) const {
    rule_->check(CheckedArguments(operation_, rule_->arguments, places_, arguments));
  }

 private:
  const ArgumentRule* rule_ = nullptr;
  std::string operation_;
  std::vector<std::int32_t> places_;  // of the rule's arguments in the schema; -1: not in this overload
};

}  // namespace ddp::graph
