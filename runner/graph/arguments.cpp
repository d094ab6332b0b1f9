#include "graph/arguments.h"

#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/jit_type.h>

#include "config/text/json_text.h"
#include "config/text/source.h"
#include "graph/archive.h"
#include "graph/executor.h"

namespace ddp::graph {
namespace {

using c10::IValue;
using config::member;
using config::text_member;
using nlohmann::json;

constexpr std::int64_t kLongestList = 1 << 20;

// An argument (the schema's type Argument) is an object with one key, its kind, such as {"as_int": 3}.
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

// The type of an argument; for an optional type "T?", T.
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
  static const std::map<std::int64_t, at::MemoryFormat> kFormats{{1, at::MemoryFormat::Contiguous},
                                                                 {2, at::MemoryFormat::ChannelsLast},
                                                                 {3, at::MemoryFormat::ChannelsLast3d},
                                                                 {4, at::MemoryFormat::Preserve}};
  if (const auto format = kFormats.find(code); format != kFormats.end()) return format->second;
  throw std::runtime_error("a memory format is unknown");
}

// Applies `read` to each element.
template <class List, class Read>
IValue list_constant(const json& value, const Read& read) {
  List list;
  for (const json& one : list_of(value)) list.push_back(read(one));
  return list;
}

IValue real_list(const json& value) { return list_constant<std::vector<double>>(value, real_number); }

// A list of integers, converted to floats if the operator takes floats.
IValue number_list(const c10::Type& type, const json& value) {
  const auto list = type.cast<c10::ListType>();
  const bool takes_floats = list && unwrapped(list->getElementType())->kind() == c10::TypeKind::FloatType;
  return takes_floats ? real_list(value) : list_constant<std::vector<std::int64_t>>(value, whole_number);
}

// A number stands for a list of equal numbers if the operator takes a list of fixed length.
IValue repeated(const c10::Argument& wanted, const IValue& value) {
  const auto type = unwrapped(wanted.type());
  if (type->kind() != c10::TypeKind::ListType || !value.isInt()) return value;
  return std::vector<std::int64_t>(static_cast<std::size_t>(wanted.N().value_or(1)), value.toInt());
}

// Unlike weights and data, results may be complex.
c10::ScalarType type_of_result(std::int64_t code) {
  constexpr std::int64_t kComplexFloat = 10, kComplexDouble = 11;
  if (code == kComplexFloat) return c10::kComplexFloat;
  return code == kComplexDouble ? c10::kComplexDouble : scalar_type(code);
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
  if (kind == "as_bools") return list_constant<c10::List<bool>>(value, truth);
  if (kind == "as_sym_int") return number_constant(*type, whole_number(member(value, "as_int")));
  if (kind == "as_sym_float") return number_constant(*type, real_number(member(value, "as_float")));
  if (kind == "as_sym_bool") return truth(member(value, "as_bool"));
  if (kind == "as_complex") {
    const c10::complex<double> number(real_number(member(value, "real")), real_number(member(value, "imag")));
    return type->kind() == c10::TypeKind::TensorType ? IValue(wrapped_number(number)) : IValue(number);
  }
  if (kind == "as_scalar_type") return static_cast<std::int64_t>(type_of_result(config::as_count(value)));
  if (kind == "as_memory_format") return static_cast<std::int64_t>(memory_format(config::as_count(value)));
  if (kind == "as_device") return device;
  if (kind == "as_layout") {
    if (config::as_count(value) != kStridedLayout) throw std::runtime_error("its tensors are not dense");
    return static_cast<std::int64_t>(at::kStrided);
  }
  throw std::runtime_error("the argument " + config::in_quotes(wanted.name()) + " is of the kind " +
                           config::in_quotes(kind) + ", which training does not support");
}

// Returns a constant in the form that the operator takes. Devices become `device`.
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

using LateKind = CallList::Late::Kind;

// The only kind of argument allowed for a scalar type, a layout or a memory format; "" for other arguments. The
// operator receives it as an integer, which kernels use as an unchecked index.
std::string_view kind_of_code(const c10::Argument& wanted) {
  switch (unwrapped(wanted.real_type())->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return "as_scalar_type";
    case c10::TypeKind::LayoutType:
      return "as_layout";
    case c10::TypeKind::MemoryFormatType:
      return "as_memory_format";
    default:
      return "";
  }
}

}  // namespace

CallList::Slot GraphValues::add(const std::string& name) {
  const auto slot = static_cast<CallList::Slot>(slots_.size());
  slots_.emplace_back();
  if (!names_.back().emplace(name, slot).second) {
    throw std::runtime_error("two values have the name " + config::in_quotes(name));
  }
  return slot;
}

CallList::Slot GraphValues::slot(const std::string& name) const {
  const auto found = names_.back().find(name);
  if (found == names_.back().end()) throw std::runtime_error("no node returns " + config::in_quotes(name));
  return found->second;
}

void GraphValues::set_arguments(const c10::FunctionSchema& schema, const json& inputs, CallList::Call& call) const {
  std::map<std::string, const json*> given;
  for (const json& input : list_of(inputs)) {
    if (!given.emplace(text_member(input, "name"), &member(input, "arg")).second) {
      throw std::runtime_error("aten." + schema.name() + " gets an argument twice");
    }
  }
  const auto& wanted = schema.arguments();
  call.arguments.resize(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto found = given.find(wanted[i].name());
    if (found != given.end()) {
      set_argument(wanted[i], static_cast<std::int32_t>(i), *found->second, call);
      given.erase(found);
    } else if (const auto& otherwise = wanted[i].default_value()) {
      call.arguments[i] = *otherwise;
    } else {
      throw std::runtime_error("lacks the argument " + config::in_quotes(wanted[i].name()));
    }
  }
  if (!given.empty()) throw std::runtime_error("has an unknown argument " + config::in_quotes(given.begin()->first));
}

void GraphValues::set_argument(const c10::Argument& wanted, std::int32_t place, const json& given,
                               CallList::Call& call) const {
  const std::string_view code = kind_of_code(wanted);
  if (!code.empty() && kind_of(given) != code && kind_of(given) != "as_none") {
    throw std::runtime_error("the argument " + config::in_quotes(wanted.name()) + " is not of type " +
                             wanted.real_type()->str());
  }
  if (set_late(wanted, place, given, call)) return;
  call.arguments[static_cast<std::size_t>(place)] = constant_of(wanted, given, device_);
}

bool GraphValues::set_late(const c10::Argument& wanted, std::int32_t place, const json& given,
                           CallList::Call& call) const {
  const std::string& kind = kind_of(given);
  const json& value = given.begin().value();
  CallList::Late late{.place = place};
  if (kind == "as_tensor" || kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool" ||
      (kind == "as_optional_tensor" && !value.contains("as_none"))) {
    if (value.contains("as_int") || value.contains("as_float") || value.contains("as_bool")) return false;
    const bool is_number = kind.starts_with("as_sym");
    const auto type = unwrapped(wanted.type())->kind();
    late.kind = is_number && type == c10::TypeKind::TensorType ? LateKind::number_as_tensor
                : is_number && type == c10::TypeKind::ListType ? LateKind::numbers
                                                               : LateKind::value;
    const auto times = static_cast<std::size_t>(late.kind == LateKind::numbers ? wanted.N().value_or(1) : 1);
    late.elements.assign(times, {.slot = slot_of(given)});
  } else if (kind == "as_tensors" || kind == "as_optional_tensors") {
    late.kind = kind == "as_tensors" ? LateKind::tensors : LateKind::optional_tensors;
    // An index takes optional tensors, and the archive may write tensors that are present without that kind.
    const auto list = unwrapped(wanted.type())->cast<c10::ListType>();
    if (list && list->getElementType()->kind() == c10::TypeKind::OptionalType) late.kind = LateKind::optional_tensors;
    for (const json& one : list_of(value)) {
      const bool is_none = one.contains("as_none");
      if (is_none && late.kind == LateKind::tensors) throw std::runtime_error("a tensor is missing");
      const json& tensor = one.contains("as_tensor") ? one.at("as_tensor") : one;
      late.elements.push_back({.slot = is_none ? CallList::kNone : slot(text_member(tensor, "name"))});
    }
  } else if (kind == "as_sym_ints") {
    late.kind = LateKind::numbers;
    for (const json& one : list_of(value)) {
      const bool is_fixed = one.contains("as_int");
      late.elements.push_back({.slot = is_fixed ? CallList::kNone : slot(text_member(one, "as_name")),
                               .number = is_fixed ? whole_number(one.at("as_int")) : 0});
    }
  } else {
    return false;
  }
  call.late.push_back(std::move(late));
  return true;
}

void GraphValues::set_numbers(const json& inputs, CallList::Call& call) const {
  for (const json& input : list_of(inputs)) {
    const json& given = member(input, "arg");
    const std::string& kind = kind_of(given);
    const json& value = given.begin().value();
    const auto place = static_cast<std::int32_t>(call.arguments.size());
    call.arguments.emplace_back();
    if (kind == "as_int" || value.contains("as_int")) {
      call.arguments.back() = whole_number(kind == "as_int" ? value : value.at("as_int"));
    } else if (kind == "as_float" || value.contains("as_float")) {
      call.arguments.back() = real_number(kind == "as_float" ? value : value.at("as_float"));
    } else if (kind == "as_bool" || value.contains("as_bool")) {
      call.arguments.back() = truth(kind == "as_bool" ? value : value.at("as_bool"));
    } else {
      call.late.push_back({.place = place, .kind = LateKind::value, .elements = {{.slot = slot_of(given)}}});
    }
  }
}

CallList::Slot GraphValues::slot_of(const json& argument) const {
  const std::string& kind = kind_of(argument);
  const json& value = argument.begin().value();
  if (kind == "as_tensor") return slot(text_member(value, "name"));
  if (kind == "as_optional_tensor") return slot(text_member(member(value, "as_tensor"), "name"));
  return slot(text_member(value, "as_name"));
}

std::vector<CallList::Result> GraphValues::add_results(const json& outputs) {
  // A node may return values without a name.
  const auto added = [this](const std::string& name) { return name.empty() ? CallList::kNone : add(name); };
  std::vector<CallList::Result> results;
  for (const json& output : list_of(outputs)) {
    const std::string& kind = kind_of(output);
    const json& value = output.begin().value();
    CallList::Result result;
    if (kind == "as_tensors") {
      result.is_list = true;
      for (const json& one : list_of(value)) result.slots.push_back(added(text_member(one, "name")));
    } else if (kind == "as_tensor") {
      result.slots.push_back(added(text_member(value, "name")));
    } else if (kind == "as_none") {
      result.slots.push_back(CallList::kNone);
    } else if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      result.slots.push_back(added(text_member(value, "as_name")));
    } else {
      throw std::runtime_error("a result has the unknown kind " + config::in_quotes(kind));
    }
    results.push_back(std::move(result));
  }
  return results;
}

CallList::Slot GraphValues::constant_slot(const json& argument) {
  const std::string& kind = kind_of(argument);
  const json& value = argument.begin().value();
  const auto slot = static_cast<CallList::Slot>(slots_.size());
  slots_.emplace_back(kind == "as_bool"    ? IValue(truth(value))
                      : kind == "as_float" ? IValue(real_number(value))
                                           : IValue(whole_number(value)));
  return slot;
}

void GraphValues::enter(const json& graph_inputs, const json& node_inputs, std::size_t first) {
  if (list_of(node_inputs).size() != first + list_of(graph_inputs).size()) {
    throw std::runtime_error("the number of inputs differs from the number that the graph takes");
  }
  std::map<std::string, CallList::Slot> inner;
  for (std::size_t i = 0; i < graph_inputs.size(); ++i) {
    const json& given = member(node_inputs[first + i], "arg");
    const std::string& kind = kind_of(given);
    const bool is_constant = kind == "as_int" || kind == "as_float" || kind == "as_bool";
    const bool is_tensor = kind_of(graph_inputs[i]) == "as_tensor";
    const std::string name = text_member(graph_inputs[i].begin().value(), is_tensor ? "name" : "as_name");
    inner.emplace(name, is_constant ? constant_slot(given) : slot_of(given));
  }
  names_.push_back(std::move(inner));
}

void GraphValues::leave(const json& graph_outputs, const json& node_outputs) {
  // One list of tensors may stand for all outputs.
  std::vector<std::string> outer;
  for (const json& output : list_of(node_outputs)) {
    const std::string& kind = kind_of(output);
    const json& value = output.begin().value();
    if (kind == "as_tensors") {
      for (const json& one : list_of(value)) outer.push_back(text_member(one, "name"));
    } else {
      outer.push_back(text_member(value, kind == "as_tensor" ? "name" : "as_name"));
    }
  }
  if (outer.size() != list_of(graph_outputs).size()) {
    throw std::runtime_error("a graph and its node return different numbers of values");
  }
  std::vector<CallList::Slot> slots;
  for (const json& output : graph_outputs) slots.push_back(slot_of(output));
  names_.pop_back();
  for (std::size_t i = 0; i < outer.size(); ++i) {
    if (!names_.back().emplace(outer[i], slots[i]).second) {
      throw std::runtime_error("two values have the name " + config::in_quotes(outer[i]));
    }
  }
}

}  // namespace ddp::graph
