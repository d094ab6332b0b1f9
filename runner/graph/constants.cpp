#include "graph/constants.h"

#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/Context.h>

#include "config/text/json_text.h"
#include "config/text/source.h"
#include "graph/call_list.h"
#include "graph/scalar_types.h"

namespace ddp::graph {
namespace {

using c10::IValue;
using config::member;
using nlohmann::json;

constexpr std::int64_t kLongestList = 1 << 20;

}  // namespace

const std::string& kind_of(const json& argument) {
  if (!argument.is_object() || argument.size() != 1) throw std::runtime_error("an argument is damaged");
  return argument.begin().key();
}

const json& list_of(const json& value) {
  if (!value.is_array() || static_cast<std::int64_t>(value.size()) > kLongestList) {
    throw std::runtime_error("an argument is not a list");
  }
  return value;
}

c10::TypePtr unwrapped(c10::TypePtr type) {
  while (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type;
}

std::int64_t whole_number(const json& value) {
  if (!value.is_number_integer()) throw std::runtime_error("an argument is not a whole number");
  return value.get<std::int64_t>();
}

// JSON has no infinities: the archive writes them as texts.
double real_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == json("Infinity")) return std::numeric_limits<double>::infinity();
  if (value == json("-Infinity")) return -std::numeric_limits<double>::infinity();
  if (value == json("NaN")) return std::numeric_limits<double>::quiet_NaN();
  throw std::runtime_error("an argument is not a number");
}

bool truth(const json& value) {
  if (!value.is_boolean()) throw std::runtime_error("an argument is not true or false");
  return value.get<bool>();
}

namespace {

constexpr std::int64_t kStridedLayout = 7;  // of the schema's Layout

IValue number_constant(const c10::Type& type, std::int64_t number) {
  if (type.kind() == c10::TypeKind::TensorType) return wrapped_number(number);
  if (type.kind() == c10::TypeKind::FloatType) return static_cast<double>(number);
  return number;
}

IValue number_constant(const c10::Type& type, double number) {
  if (type.kind() == c10::TypeKind::TensorType) return wrapped_number(number);
  return number;
}

at::MemoryFormat memory_format(std::int64_t code) {
  switch (code) {
    case 1:
      return at::MemoryFormat::Contiguous;
    case 2:
      return at::MemoryFormat::ChannelsLast;
    case 3:
      return at::MemoryFormat::ChannelsLast3d;
    case 4:
      return at::MemoryFormat::Preserve;
    default:
      throw std::runtime_error("a memory format is unknown");
  }
}

// A list of integers, converted to floats if the operator takes floats.
IValue number_list(const c10::Type& type, const json& value) {
  const auto list = type.cast<c10::ListType>();
  if (list && unwrapped(list->getElementType())->kind() == c10::TypeKind::FloatType) {
    std::vector<double> numbers;
    for (const json& one : list_of(value)) numbers.push_back(real_number(one));
    return numbers;
  }
  std::vector<std::int64_t> numbers;
  for (const json& one : list_of(value)) numbers.push_back(whole_number(one));
  return numbers;
}

IValue flag_list(const json& value) {
  c10::List<bool> flags;
  for (const json& one : list_of(value)) flags.push_back(truth(one));
  return flags;
}

IValue real_list(const json& value) {
  std::vector<double> numbers;
  for (const json& one : list_of(value)) numbers.push_back(real_number(one));
  return numbers;
}

// A number stands for a list of equal numbers if the operator takes a list of fixed length.
IValue repeated(const c10::Argument& wanted, const IValue& value) {
  const auto type = unwrapped(wanted.type());
  if (type->kind() != c10::TypeKind::ListType || !value.isInt()) return value;
  return std::vector<std::int64_t>(static_cast<std::size_t>(wanted.N().value_or(1)), value.toInt());
}

IValue converted(const c10::Argument& wanted, const json& given, c10::Device device) {
  const std::string& kind = kind_of(given);
  const json& value = given.begin().value();
  const c10::TypePtr type = unwrapped(wanted.type());
  if (kind == "as_none" || kind == "as_optional_tensor") return {};
  if (kind == "as_int") return number_constant(*type, whole_number(value));
  if (kind == "as_float") return number_constant(*type, real_number(value));
  if (kind == "as_bool") return truth(value);
  if (kind == "as_string" && value.is_string()) return value.get<std::string>();
  if (kind == "as_ints") return number_list(*type, value);
  if (kind == "as_floats") return real_list(value);
  if (kind == "as_bools") return flag_list(value);
  if (kind == "as_sym_int") return number_constant(*type, whole_number(member(value, "as_int")));
  if (kind == "as_sym_float") return number_constant(*type, real_number(member(value, "as_float")));
  if (kind == "as_sym_bool") return truth(member(value, "as_bool"));
  if (kind == "as_scalar_type") return static_cast<std::int64_t>(scalar_type(config::as_count(value)));
  if (kind == "as_memory_format") return static_cast<std::int64_t>(memory_format(config::as_count(value)));
  if (kind == "as_device") return device;
  if (kind == "as_layout") {
    if (config::as_count(value) != kStridedLayout) throw std::runtime_error("its tensors are not dense");
    return static_cast<std::int64_t>(at::kStrided);
  }
  throw std::runtime_error("the argument " + config::in_quotes(wanted.name()) + " is of the kind " +
                           config::in_quotes(kind) + ", which training does not support");
}

}  // namespace

IValue constant_of(const c10::Argument& wanted, const json& given, c10::Device device) {
  IValue value = repeated(wanted, converted(wanted, given, device));
  // The exporting machine's GPU decided this flag.
  if (wanted.name() == "cudnn_enabled") value = at::globalContext().userEnabledCuDNN();
  if (!value.isNone() && !value.isTensor() && !value.type()->isSubtypeOf(*unwrapped(wanted.type()))) {
    const bool is_scalar = unwrapped(wanted.type())->kind() == c10::TypeKind::NumberType && value.isScalar();
    const bool is_list = unwrapped(wanted.type())->kind() == c10::TypeKind::ListType && value.isList();
    if (!is_scalar && !is_list && !(value.isInt() && wanted.type()->str() != "str")) {
      throw std::runtime_error("the argument " + config::in_quotes(wanted.name()) + " is not of type " +
                               wanted.type()->str());
    }
  }
  return value;
}

}  // namespace ddp::graph
