#include "graph/argument_checks.h"

#include <algorithm>
#include <array>

#include "graph/argument_rules.h"

namespace ddp::graph {
namespace {

const ArgumentRule* rule_of(std::string_view operation) {
  for (const std::vector<ArgumentRule>* rules : {&recurrent_rules(), &image_rules(), &layer_rules(), &range_rules()}) {
    for (const ArgumentRule& rule : *rules) {
      if (std::find(rule.operations.begin(), rule.operations.end(), operation) != rule.operations.end()) return &rule;
    }
  }
  return nullptr;
}

// Returns "_copy" and "add" for the schema's "aten::_copy" and "aten::add_".
std::string operation_of(const c10::FunctionSchema& schema) {
  std::string name = schema.name();
  name.erase(0, name.find("::") == std::string::npos ? 0 : name.find("::") + 2);
  return name;
}

}  // namespace

ArgumentCheck::ArgumentCheck(const c10::FunctionSchema& schema) : operation_(operation_of(schema)) {
  rule_ = rule_of(operation_);
  // An in-place operator is checked like its namesake without "_".
  if (rule_ == nullptr && operation_.ends_with('_')) rule_ = rule_of(operation_.substr(0, operation_.size() - 1));
  if (rule_ == nullptr) return;
  for (const std::string_view name : rule_->arguments) {
    const std::optional<int> place = schema.argumentIndexWithName(name);
    places_.push_back(place.value_or(-1));
  }
}

const at::Tensor& CheckedArguments::tensor(std::size_t i) const {
  if (!value(i).isTensor() || !value(i).toTensor().defined()) refuse(i, "must be a tensor");
  return value(i).toTensor();
}

std::vector<at::Tensor> CheckedArguments::tensors(std::size_t i) const {
  if (!value(i).isTensorList()) return {tensor(i)};
  std::vector<at::Tensor> tensors = value(i).toTensorVector();
  for (const at::Tensor& one : tensors) {
    if (!one.defined()) refuse(i, "must hold tensors");
  }
  return tensors;
}

std::vector<std::int64_t> CheckedArguments::numbers(std::size_t i) const {
  if (value(i).isInt()) return {value(i).toInt()};
  if (!value(i).isIntList()) refuse(i, "must be a list of whole numbers");
  return value(i).toIntVector();
}

std::vector<double> CheckedArguments::reals(std::size_t i) const {
  if (value(i).isDouble()) return {value(i).toDouble()};
  if (!value(i).isDoubleList()) refuse(i, "must be a list of numbers");
  return value(i).toDoubleVector();
}

std::int64_t CheckedArguments::number(std::size_t i) const {
  if (!value(i).isInt()) refuse(i, "must be a whole number");
  return value(i).toInt();
}

bool CheckedArguments::flag(std::size_t i) const {
  if (!value(i).isBool()) refuse(i, "must be true or false");
  return value(i).toBool();
}

c10::Scalar CheckedArguments::scalar(std::size_t i) const {
  if (!value(i).isScalar()) refuse(i, "must be a number");
  return value(i).toScalar();
}

void CheckedArguments::refuse(std::size_t i, const std::string& rule) const {
  throw BadArgument("aten." + operation_ + ": `" + std::string(names_[i]) + "` " + rule);
}

}  // namespace ddp::graph
