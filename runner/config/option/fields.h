#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "config/option/option.h"

namespace ddp::config {

class Fields;

// A struct that lists its fields.
template <class T>
concept HasFields = requires(T& object, Fields& f) {
  object.fields(f);
};

// How a field of a C++ type is written as a value, read, and described:
//
//   describe  adds its types to an option
//   value     returns it as a value; null: it has none
//   assign    takes a value; throws ddp::Error (usage) if that does not fit
//   schema    returns the JSON Schema of its values; adds the types that have a name, kDefinition, to `defs`
//   is_there  tells whether an optional member has it
template <class T>
struct FieldType;

// A type that can also be read.
template <class T>
concept Readable = std::is_default_constructible_v<T> && requires(T& field, const Value& value) {
  FieldType<T>::assign(field, value);
};

// Throws ddp::Error (usage) if a value has another type.
void require_type(const Value& value, Type type);
// Returns an integer within these limits. Throws ddp::Error (usage) for others.
std::int64_t integer_of(const Value& value, std::int64_t least, std::int64_t most);

Value schema_of_boolean();
Value schema_of_integer(const Option& option);
Value schema_of_number(const Option& option);
Value schema_of_text(const Option& option);
Value schema_of_value(const Option& option);
Value schema_of_list(Value items);
Value schema_of_map(const Option& option, Value values);
Value or_null(Value schema);

inline constexpr std::uint64_t kMostInteger = std::numeric_limits<std::int64_t>::max();

// A boolean, a number or a text.
template <class T>
struct FieldType {
  static constexpr Type kType = std::is_same_v<T, bool>       ? Type::boolean
                                : std::is_integral_v<T>       ? Type::integer
                                : std::is_floating_point_v<T> ? Type::number
                                                              : Type::text;
  static void describe(Option& option) { option.types = {kType}; }
  static Value value(const T& field) { return field; }
  static void assign(T& field, const Value& value) {
    if constexpr (kType == Type::integer) {
      constexpr auto kMost = std::min<std::uint64_t>(std::numeric_limits<T>::max(), kMostInteger);
      field = static_cast<T>(integer_of(value, std::numeric_limits<T>::min(), static_cast<std::int64_t>(kMost)));
    } else if (value.is_null()) {
      field = kType == Type::number ? std::numeric_limits<T>::quiet_NaN() : T();  // see Option::may_be_null
    } else {
      require_type(value, kType);
      field = value.get<T>();
    }
  }
  static Value schema(const Option& option, Value&) {
    if constexpr (kType == Type::boolean) return schema_of_boolean();
    if constexpr (kType == Type::integer) return schema_of_integer(option);
    if constexpr (kType == Type::number) return schema_of_number(option);
    return schema_of_text(option);
  }
  static bool is_there(const T& field) {
    if constexpr (kType == Type::boolean) return field;
    if constexpr (kType == Type::text) return !field.empty();
    if constexpr (kType == Type::integer) return field != 0;
    return true;
  }
};

template <class T>
struct FieldType<std::vector<T>> {
  static constexpr Type kType = Type::list;
  static void describe(Option& option) {
    option.types = {kType};
    if constexpr (requires { FieldType<T>::kType; }) option.item = FieldType<T>::kType;
  }
  static Value value(const std::vector<T>& field) {
    Value list = Value::array();
    for (const T& one : field) list.push_back(FieldType<T>::value(one));
    return list;
  }
  static void assign(std::vector<T>& field, const Value& value) requires Readable<T> {
    require_type(value, kType);
    field.clear();
    for (const Value& one : value) {
      T item{};
      FieldType<T>::assign(item, one);
      field.push_back(std::move(item));
    }
  }
  static Value schema(const Option& option, Value& defs) {
    Option item = option;
    item.optional = false;  // a list may be left out, and its values not
    return schema_of_list(FieldType<T>::schema(item, defs));
  }
  static bool is_there(const std::vector<T>& field) { return !field.empty(); }
};

template <class T, class Order>
struct FieldType<std::map<std::string, T, Order>> {
  static constexpr Type kType = Type::table;
  static void describe(Option& option) { option.types = {kType}; }
  static Value value(const std::map<std::string, T, Order>& field) {
    Value table = Value::object();
    for (const auto& [key, one] : field) table[key] = FieldType<T>::value(one);
    return table;
  }
  static void assign(std::map<std::string, T, Order>& field, const Value& value) requires Readable<T> {
    require_type(value, kType);
    field.clear();
    for (const auto& [key, one] : value.items()) FieldType<T>::assign(field[key], one);
  }
  static Value schema(const Option& option, Value& defs) {
    Option item = option;
    item.optional = false;
    return schema_of_map(option, FieldType<T>::schema(item, defs));
  }
  static bool is_there(const std::map<std::string, T, Order>& field) { return !field.empty(); }
};

// Without a value: not given; null in JSON, or left out if the member is optional.
template <class T>
struct FieldType<std::optional<T>> : FieldType<T> {
  static void describe(Option& option) {
    FieldType<T>::describe(option);
    option.may_be_null = true;
  }
  static Value value(const std::optional<T>& field) { return field ? FieldType<T>::value(*field) : Value(); }
  static void assign(std::optional<T>& field, const Value& value) requires Readable<T> {
    if (value.is_null()) return field.reset();
    T given{};
    FieldType<T>::assign(given, value);
    field = std::move(given);
  }
  static Value schema(const Option& option, Value& defs) {
    Value schema = FieldType<T>::schema(option, defs);
    return option.optional ? schema : or_null(std::move(schema));
  }
  static bool is_there(const std::optional<T>& field) { return field.has_value(); }
};

// A value of any of option.types, which the caller gives.
template <>
struct FieldType<Value> {
  static void describe(Option& option) { option.may_be_null = true; }
  static Value value(const Value& field) { return field; }
  static void assign(Value& field, const Value& value) { field = value; }
  static Value schema(const Option& option, Value&) { return schema_of_value(option); }
  static bool is_there(const Value& field) { return !field.is_null(); }
};

// Returns the place of a name in a list. Throws ddp::Error (usage) if the list lacks it.
std::size_t place_of_name(const std::string& name, std::span<const char* const> names);

// The name of a value of an enumeration. The function names_of() beside the enumeration returns all names in order.
template <class T>
const char* name_of(T value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

// An enumeration by its names. An optional member that has the first value is left out.
template <class T>
requires std::is_enum_v<T>
struct FieldType<T> {
  static constexpr Type kType = Type::text;
  static void describe(Option& option) { option.types = {kType}; }
  static Value value(T field) { return name_of(field); }
  static void assign(T& field, const Value& value) {
    require_type(value, kType);
    field = static_cast<T>(place_of_name(value.get<std::string>(), names_of(field)));
  }
  static Value schema(const Option& option, Value&) { return schema_of_text(option); }
  static bool is_there(T field) { return field != T{}; }
};

// One of several types; it is only written.
template <class... T>
struct FieldType<std::variant<T...>> {
  static void describe(Option&) {}
  static Value value(const std::variant<T...>& field) {
    return std::visit([](const auto& one) { return FieldType<std::decay_t<decltype(one)>>::value(one); }, field);
  }
  static Value schema(const Option& option, Value& defs) {
    return {{"anyOf", Value::array({FieldType<T>::schema(option, defs)...})}};
  }
  static bool is_there(const std::variant<T...>&) { return true; }
};

// The section [option.name]; its key `name` chooses a component of option.component_kind.
template <>
struct FieldType<Component> {
  static void describe(Option& option) { option.types = {Type::text, Type::table}; }
  static Value value(const Component& field);
  static void assign(Component& field, const Value& value);
  static Value schema(const Option& option, Value&) { return schema_of_value(option); }
  static bool is_there(const Component&) { return true; }
};

// Visits each field of a struct once, in order: all that crosses a border is listed so. The same list reads and writes
// the struct, describes it for checks and help, and makes the JSON Schema of what is written:
//
//   struct LoaderSection {
//     bool shuffle = true;
//     void fields(Fields& f) { f({.name = "shuffle", .doc = "a new order every epoch"}, shuffle); }
//   };
class Fields {
 public:
  virtual ~Fields() = default;

  template <class T>
  void operator()(Option option, T&& field) {
    using Plain = std::remove_cvref_t<T>;
    using Of = FieldType<Plain>;
    if (defs_ != nullptr) return note(option, Of::schema(option, *defs_));
    Of::describe(option);
    Value value;
    if (!(option.optional || option.may_be_null) || Of::is_there(field)) value = Of::value(field);
    if (!replaces(option, value)) return;
    if constexpr (!std::is_const_v<std::remove_reference_t<T>> && Readable<Plain>) {
      named(option.name, [&] { Of::assign(field, value); });
    }
  }
  void operator()(Option option, const char* text) { (*this)(std::move(option), std::string(text)); }
  // A value that is already JSON, with its own schema.
  template <class V>
  void operator()(Option option, V&& value, Value schema) {
    if (defs_ != nullptr) return note(option, std::move(schema));
    (*this)(std::move(option), std::forward<V>(value));
  }
  // A value that is already JSON, as T would be.
  template <class T, class V>
  void as(Option option, V&& value) {
    if (defs_ != nullptr) return note(option, FieldType<T>::schema(option, *defs_));
    (*this)(std::move(option), std::forward<V>(value));
  }
  // The section [option.name] with the fields of `section`.
  template <class Section>
  void section(Option option, Section& section) {
    enter(std::move(option));
    section.fields(*this);
    leave();
  }
  // True, or left out.
  template <class Flag>
  void flag(Option option, Flag&& value) {
    option.optional = true;
    (*this)(std::move(option), std::forward<Flag>(value), {{"const", true}});
  }
  // Numbers under names of this pattern, or any other name if it is empty; null: not finite. `always`: the name of one
  // that is always there. They are only written.
  template <class Numbers>
  void numbers(const char* pattern, const char* doc, const Numbers& numbers, const char* always = "") {
    if (defs_ != nullptr) return note_numbers(pattern, doc, always);
    for (const auto& [name, value] : numbers) (*this)({.name = name}, Value(value));
  }
  // The mark of an object in which a number is null because it was not finite.
  virtual void not_finite() {}
  // The version of the format.
  void version();
  // Is the struct being filled? Then what follows from its fields is to be made.
  virtual bool reads() const { return false; }

 protected:
  explicit Fields(Value* defs = nullptr) : defs_(defs) {}
  // Takes a field with its value, null if it has none; may take the option's texts. Returns whether it has put another
  // value in place of this one.
  virtual bool replaces(Option& option, Value& value) = 0;
  // Takes a value; an error of it names the field.
  static void named(const std::string& field, const std::function<void()>& assign);
  virtual void enter(Option option) = 0;
  virtual void leave() = 0;
  // Takes the JSON Schema of a field, if there are `defs`.
  virtual void note(const Option&, Value) {}
  virtual void note_numbers(const char* /*pattern*/, const char* /*doc*/, const char* /*always*/) {}

  Value* const defs_;  // of the JSON Schema that this visit makes; null: it makes none
};

// A visit of a struct's fields.
using Visit = void (*)(void* section, Fields& f);
template <class Section>
void visit(void* section, Fields& f) {
  static_cast<Section*>(section)->fields(f);
}

// The options that a struct declares, with the defaults of its constructor.
std::vector<Option> describe(Visit visit, void* section);
template <class Section>
const std::vector<Option>& describe() {
  static const std::vector<Option> options = [] {
    Section section;
    return describe(visit<Section>, &section);
  }();
  return options;
}

// Fills a struct from a table; keys that the table lacks keep their defaults. Throws ddp::Error (usage) if a value does
// not fit, which never happens with a table that was checked against its options.
void read(const Value& table, Visit visit, void* section);
template <class Section>
Section read(const Value& table) {
  Section section;
  read(table, visit<Section>, &section);
  return section;
}

// The reverse: every field, in order, except optionals without a value.
Value write(Visit visit, void* section);
template <class Section>
Value write(Section section) {
  return write(visit<Section>, &section);
}

// Writes a struct, or a list or a map of them, as JSON for other programs: optionals without a value are null.
Value written(Visit visit, void* object);
template <class T>
Value written(const T& object) {
  return FieldType<T>::value(object);
}

// Reads JSON that another process, an older version or a stranger may have written: written() made it, or it is
// damaged. Throws ddp::Error (usage) that names a member that is missing, has another type, or is out of its range.
void read_written(const Value& object, Visit visit, void* section);
template <class T>
T read_written(const Value& value) {
  T made{};
  FieldType<T>::assign(made, value);
  return made;
}

// Returns the schema of an object with the listed members and no others.
Value schema_of_object(Visit visit, void* object, Value& defs);

template <HasFields T>
struct FieldType<T> {
  static constexpr Type kType = Type::table;
  static void describe(Option& option) { option.types = {kType}; }
  static Value value(const T& field) {
    return written(visit<T>, const_cast<T*>(&field));  // only a reader changes the fields
  }
  static void assign(T& field, const Value& value) { read_written(value, visit<T>, &field); }
  static Value schema(const Option&, Value& defs) {
    const auto listed = [&defs] {
      T none{};
      return schema_of_object(visit<T>, &none, defs);
    };
    if constexpr (requires { T::kDefinition; }) {
      if (!defs.contains(T::kDefinition)) {
        defs[T::kDefinition] = nullptr;  // the type may contain itself
        defs[T::kDefinition] = listed();
      }
      return {{"$ref", std::string("#/$defs/") + T::kDefinition}};
    } else {
      return listed();
    }
  }
  static bool is_there(const T& field) {
    if constexpr (requires { field.any(); }) return field.any();
    return true;
  }
};

// Returns a JSON Schema with this title for objects of type T, or of one of several types in a std::variant.
Value titled_schema(const std::string& title, Value (*schema)(Value& defs));
template <class T>
Value output_schema(const std::string& title) {
  return titled_schema(title, [](Value& defs) { return FieldType<T>::schema({}, defs); });
}

}  // namespace ddp::config
