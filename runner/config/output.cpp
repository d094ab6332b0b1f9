#include "config/output.h"

#include <cstring>
#include <sstream>

namespace ddp::config {

void Members::describe(const Member& m, Value schema) {
  Value described = Value::object();
  if (*m.doc != '\0') described["description"] = m.doc;
  described.update(schema);
  object_[m.name] = std::move(described);
  if (!m.optional) required_.push_back(m.name);
}

void Members::describe_numbers(const char* pattern, const char* doc, const char* always) {
  const double* number = nullptr;
  if (*always != '\0') describe({.name = always}, type_of({.may_be_null = true}, number));
  patterns_[pattern] = {{"description", doc}, {"type", {"number", "null"}}};
}

void Members::flag(const Member& m, bool value) {
  if (defs_ != nullptr) {
    object_[m.name] = {{"description", m.doc}, {"const", true}};
  } else if (value) {
    object_[m.name] = true;
  }
}

void Members::not_finite() {
  if (defs_ == nullptr) return;
  object_["finite"] = {{"description", "present if a number is null because it was not finite"}, {"const", false}};
}

Value Members::closed() {
  Value schema = {{"type", "object"},
                  {"properties", std::move(object_)},
                  {"required", std::move(required_)},
                  {"additionalProperties", false}};
  if (const auto any = patterns_.find(""); any != patterns_.end()) {
    schema["additionalProperties"] = *any;
    patterns_.erase(any);
  }
  if (!patterns_.empty()) schema["patternProperties"] = std::move(patterns_);
  return schema;
}

Value Members::any_of(Value a, Value b) { return {{"anyOf", Value::array({std::move(a), std::move(b)})}}; }

Value Members::table(Value of_each, const char* pattern) {
  if (*pattern == '\0') return {{"type", "object"}, {"additionalProperties", std::move(of_each)}};
  Value keys = Value::object();
  keys[pattern] = std::move(of_each);
  return {{"type", "object"}, {"patternProperties", std::move(keys)}, {"additionalProperties", false}};
}

Value Members::type_of(const Member&, const bool*) { return {{"type", "boolean"}}; }

Value Members::type_of(const Member& m, const double*) {
  Value number = {{"type", "number"}};
  return m.may_be_null ? any_of(std::move(number), {{"type", "null"}}) : number;
}

Value Members::type_of(const Member& m, const std::string*) {
  Value text = {{"type", "string"}};
  if (*m.pattern != '\0') text["pattern"] = m.pattern;
  if (*m.choices == '\0') return text;
  std::istringstream choices(m.choices);
  for (std::string one; std::getline(choices, one, '|');) text["enum"].push_back(one);
  return text;
}

Value Members::type_of(const Member& m, const Value*) {
  return *m.type == '\0' ? Value::object() : Value{{"type", m.type}};
}

}  // namespace ddp::config
