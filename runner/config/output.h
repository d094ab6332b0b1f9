#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "config/value.h"

namespace ddp::config {

// One member of a JSON object that the program prints or writes.
struct Member {
  const char* name = "";
  const char* doc = "";
  const char* choices = "";  // of a text: the only values, "a|b"
  const char* pattern = "";  // of a text: its regular expression; of a map: that of its keys
  int minimum = 0;           // of an integer
  bool optional = false;     // left out if it has no value
  bool may_be_null = false;  // of a number: null if it is not finite
  const char* type = "";     // of a Value: its type in a JSON Schema; empty: any
};

class Members;

template <class T>
concept HasMembers = requires(const T& object, Members& m) {
  object.members(m);
};

// Visits each member of a JSON object once, in order. The same list writes the object and describes it in its JSON
// Schema; the types of the members follow from the C++ types:
//
//   struct Best {
//     std::string metric;
//     std::optional<double> value;  // null without a value; left out if the member is optional
//     void members(Members& m) const { m({"metric"}, metric); m({"value", "the least one"}, value); }
//   };
class Members {
 public:
  template <class T>
  void operator()(const Member& m, const T& value) {
    if (defs_ != nullptr) {
      describe(m, type_of(m, &value));
    } else if (!m.optional || has_value(value)) {
      object_[m.name] = json(value);
    }
  }
  void operator()(const Member& m, const char* value) { (*this)(m, std::string(value)); }
  // A value that is already JSON, with its own schema.
  void operator()(const Member& m, const Value& value, Value schema) {
    if (defs_ != nullptr) {
      describe(m, std::move(schema));
    } else {
      object_[m.name] = value;
    }
  }
  // A value that is already JSON, as T would be.
  template <class T>
  void as(const Member& m, const Value& value) {
    if (defs_ != nullptr) {
      describe(m, type_of(m, static_cast<const T*>(nullptr)));
    } else if (!m.optional || !value.is_null()) {
      object_[m.name] = value;
    }
  }
  // True, or left out.
  void flag(const Member& m, bool value);
  // Numbers under names of this pattern, or any other name if it is empty; null: not finite. `always`: the name of one
  // that is always there.
  template <class Numbers>
  void numbers(const char* pattern, const char* doc, const Numbers& numbers, const char* always = "") {
    if (defs_ != nullptr) return describe_numbers(pattern, doc, always);
    for (const auto& [name, value] : numbers) object_[name] = value;
  }
  // The mark of an object in which a number is null because it was not finite.
  void not_finite();
  // The version of the format.
  void version() { (*this)({"version"}, Value(1), {{"const", 1}}); }

  template <HasMembers T>
  static Value json(const T& object) {
    Members m(nullptr);
    object.members(m);
    return std::move(m.object_);
  }
  // Returns the JSON Schema of a type; adds the types that have a name, kDefinition, to `defs`.
  template <class T>
  static Value schema(Value& defs) {
    Members m(&defs);
    const T* none = nullptr;
    return m.type_of({}, none);
  }

 private:
  explicit Members(Value* defs) : defs_(defs) {}

  template <class T>
  requires std::is_arithmetic_v<T>
  static Value json(T value) { return value; }
  static Value json(const std::string& text) { return text; }
  static Value json(const Value& value) { return value; }
  template <class T>
  static Value json(const std::optional<T>& value) {
    return value ? json(*value) : Value();
  }
  template <class T>
  static Value json(const std::vector<T>& list) {
    Value array = Value::array();
    for (const T& one : list) array.push_back(json(one));
    return array;
  }
  template <class T, class Order>
  static Value json(const std::map<std::string, T, Order>& map) {
    Value table = Value::object();
    for (const auto& [key, one] : map) table[key] = json(one);
    return table;
  }
  template <class... T>
  static Value json(const std::variant<T...>& value) {
    return std::visit([](const auto& one) { return json(one); }, value);
  }

  template <class T>
  static bool has_value(const T&) {
    return true;
  }
  template <class T>
  static bool has_value(const std::optional<T>& value) {
    return value.has_value();
  }
  static bool has_value(bool value) { return value; }
  static bool has_value(const Value& value) { return !value.is_null(); }
  static bool has_value(const std::string& text) { return !text.empty(); }
  template <class T>
  static bool has_value(const std::vector<T>& list) {
    return !list.empty();
  }

  // The member as each of its values: a list may be left out, and its values not.
  static Member item_of(Member m) {
    m.optional = false;
    return m;
  }

  void describe(const Member& m, Value schema);
  void describe_numbers(const char* pattern, const char* doc, const char* always);
  static Value any_of(Value a, Value b);
  static Value table(Value of_each, const char* pattern);

  static Value type_of(const Member& m, const bool*);
  static Value type_of(const Member& m, const double*);
  static Value type_of(const Member& m, const std::string*);
  static Value type_of(const Member& m, const Value*);
  template <std::integral T>
  Value type_of(const Member& m, const T*) {
    return {{"type", "integer"}, {"minimum", m.minimum}};
  }
  template <class T>
  Value type_of(const Member& m, const std::optional<T>*) {
    const T* none = nullptr;
    return m.optional ? type_of(m, none) : any_of(type_of(m, none), {{"type", "null"}});
  }
  template <class T>
  Value type_of(const Member& m, const std::vector<T>*) {
    const T* none = nullptr;
    return {{"type", "array"}, {"items", type_of(item_of(m), none)}};
  }
  template <class T, class Order>
  Value type_of(const Member& m, const std::map<std::string, T, Order>*) {
    const T* none = nullptr;
    return table(type_of(item_of(m), none), m.pattern);
  }
  template <class... T>
  Value type_of(const Member& m, const std::variant<T...>*) {
    return {{"anyOf", Value::array({type_of(m, static_cast<const T*>(nullptr))...})}};
  }
  template <HasMembers T>
  Value type_of(const Member&, const T*) {
    const auto listed = [this] {
      Members m(defs_);
      T{}.members(m);
      return m.closed();
    };
    if constexpr (requires { T::kDefinition; }) {
      if (!defs_->contains(T::kDefinition)) {
        (*defs_)[T::kDefinition] = nullptr;  // the type may contain itself
        (*defs_)[T::kDefinition] = listed();
      }
      return {{"$ref", std::string("#/$defs/") + T::kDefinition}};
    } else {
      return listed();
    }
  }
  // The schema of an object with the listed members and no others.
  Value closed();

  Value* const defs_;  // null: writes
  Value object_ = Value::object();
  Value required_ = Value::array();
  Value patterns_ = Value::object();
};

// Writes an object.
template <HasMembers T>
Value written(const T& object) {
  return Members::json(object);
}

// Returns the text, or nothing if it is empty.
inline std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// Returns a JSON Schema with this title for objects of type T, or of one of several types in a std::variant.
template <class T>
Value output_schema(const std::string& title) {
  Value schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  Value defs = Value::object();
  schema.update(Members::schema<T>(defs));
  if (!defs.empty()) schema["$defs"] = std::move(defs);
  return schema;
}

}  // namespace ddp::config
