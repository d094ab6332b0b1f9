#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>

#include "catch.h"
#include "errors.h"
#include "graph/argument_checks.h"
#include "graph/executor.h"
#include "words.h"

namespace ddp::graph {

// A graph with one call of an operator; the first result is the output. Arguments have the schema's defaults unless
// set.
class OneCall {
 public:
  explicit OneCall(std::string name, std::string overload = "")
      : name_("aten::" + std::move(name), std::move(overload)) {
    for (const c10::Argument& argument : handle().schema().arguments()) {
      arguments_.push_back(argument.default_value().value_or(c10::IValue()));
    }
  }

  OneCall with(const std::string& argument, c10::IValue value) const {
    OneCall other = *this;
    const auto place = handle().schema().argumentIndexWithName(argument);
    REQUIRE(place.has_value());
    other.arguments_[static_cast<std::size_t>(*place)] = std::move(value);
    return other;
  }

  // Runs the call as a graph, with its check.
  at::Tensor run() const {
    CallList list;
    list.file = "net.pt2";
    list.operators.push_back(std::make_unique<const c10::OperatorHandle>(handle()));
    CallList::Call call{.operation = list.operators.back().get(), .source = "net.py, line 6: x = self.layer(x)"};
    call.check = ArgumentCheck(handle().schema());
    call.arguments = arguments_;
    call.results.push_back({.slots = {0}});
    list.calls.push_back(std::move(call));
    list.values.emplace_back();
    list.outputs = {{"y", 0}};
    return Executor(std::move(list)).run({}).front().second;
  }

  // Runs the call without a check.
  at::Tensor run_alone() const {
    std::vector<c10::IValue> stack = arguments_;
    handle().callBoxed(stack);
    return stack.front().toTensor();
  }

  std::string error() const {
    return error_of([&] { run(); });
  }

 private:
  c10::OperatorHandle handle() const {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name_.name.c_str(), name_.overload_name.c_str());
  }

  c10::OperatorName name_;
  std::vector<c10::IValue> arguments_;
};

// Requires that the call succeeds with the operator's bits.
inline void check_admitted(const OneCall& call) {
  at::manual_seed(1);
  const at::Tensor alone = call.run_alone();
  at::manual_seed(1);
  const at::Tensor checked = call.run();
  CHECK(checked.equal(alone));
}

// Requires that the call is refused before its kernel begins: the error names the operator, the argument, the file and
// its line.
inline void check_refused(const OneCall& call, const std::string& what) {
  const std::string error = call.error();
  INFO(error);
  CHECK(contains(error, what));
  CHECK(contains(error, "net.pt2"));
  CHECK(contains(error, "in net.py, line 6: x = self.layer(x)"));
}

}  // namespace ddp::graph
