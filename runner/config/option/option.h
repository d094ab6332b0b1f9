#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/value.h"

namespace ddp::config {

class Members;  // config/output.h

// The range of a number; minimum and maximum belong to it unless excluded.
struct Range {
  std::optional<double> minimum = {};
  std::optional<double> maximum = {};
  bool minimum_excluded = false;
  bool maximum_excluded = false;

  void members(Members& m) const;
};

inline Range at_least(double minimum) { return {.minimum = minimum}; }
inline Range above(double minimum) { return {.minimum = minimum, .minimum_excluded = true}; }
inline Range between(double minimum, double maximum) { return {.minimum = minimum, .maximum = maximum}; }
// 0 < x <= maximum
inline Range up_to(double maximum) { return {.minimum = 0, .maximum = maximum, .minimum_excluded = true}; }
// minimum <= x < maximum
inline Range from_below(double minimum, double maximum) {
  return {.minimum = minimum, .maximum = maximum, .maximum_excluded = true};
}

struct Option;

// The name and options of a component: "mlp" and the keys of its [model] table.
struct Spec {
  std::string name = {};
  std::string doc = {};
  std::vector<Option> options;
  Value traits = Value::object();  // facts for checks without tensors: a dataset's {"loss": "mse"}

  static constexpr const char* kDefinition = "component";
  void members(Members& m) const;
};

// One key of a section or a component, with all that reading, checking, printing, the JSON Schema and the help need. A
// struct's `fields` function gives name, doc and limits; the rest follows from the C++ type of the field.
struct Option {
  std::string name = {};
  std::string doc = {};
  std::vector<std::string> aliases = {};   // other programs' names of this key: never taken, only hinted at
  Range range = {};                        // of a number, or of each number of a list
  std::vector<std::string> choices = {};   // of a text: the only allowed values
  std::string form = {};                   // of a text: the name of its form, for text_form()
  std::vector<std::string> numbered = {};  // with choices: each of these followed by a whole number is also a choice
  bool required = false;
  std::string from_data = {};              // of a model: the fact of the data that gives the value if the file does not
  std::string open_prefix = {};            // with choices: a text that begins so is also a choice; "": none
  std::string names_kind = {};             // of a text: supply_names() adds the names of this kind to `choices`
  bool path = false;                       // a file name, relative to the experiment file that gives it
  bool names_run = false;                  // of a path: may also be the name of a run, which stays unchanged
  std::vector<std::string> words = {};     // of a path: texts that are not paths
  std::optional<std::size_t> length = {};  // of a list
  std::vector<Type> types = {};            // the allowed types; several if PyTorch takes an int or a list
  std::optional<Type> item = {};           // of a list: the type of its values
  Value default_value = {};                // null: none
  std::vector<Spec> variants = {};         // of a list of tables: the kinds of tables, chosen by the table's "type"
  std::vector<Option> item_keys = {};      // of a list of tables: the keys of each table
  std::string item_kind = {};              // of a list of tables: the kind of the component whose options are keys
  std::string item_component = {};         // of a list of tables: the name of this component; empty: any of its kind
  std::string component_kind = {};         // of a section that names a component: "model", "dataset", …
  std::vector<Option> section = {};        // of a section: its keys

  static constexpr const char* kDefinition = "option";
  void members(Members& m) const;
};

inline bool takes_type(const Option& option, Type type) {
  return std::find(option.types.begin(), option.types.end(), type) != option.types.end();
}

// A component that a file chose: `[model] name = "mlp", hidden = [64]`. The options hold only the given keys until
// load() fills in the defaults.
struct Component {
  std::string name = {};
  Value options = Value::object();
  // By their options: the files that are read in place of those that the options name. No part of the file.
  std::map<std::string, std::string> copies = {};

  // Returns the options with these files.
  Value with_copies() const {
    Value all = options;
    for (const auto& [option, copy] : copies) all[option] = copy;
    return all;
  }
};

// How a field of a C++ type is given in a file: a boolean, a number or a text by its value.
template <class T>
struct FieldType {
  static constexpr Type kType = std::is_same_v<T, bool>       ? Type::boolean
                                : std::is_integral_v<T>       ? Type::integer
                                : std::is_floating_point_v<T> ? Type::number
                                                              : Type::text;
  static void describe(Option& option) { option.types = {kType}; }
  static Value value(const T& field) { return field; }
  static void assign(T& field, const Value& value) { field = value.get<T>(); }
};
template <class T>
struct FieldType<std::vector<T>> : FieldType<T> {
  static void describe(Option& option) {
    option.types = {Type::list};
    option.item = FieldType<T>::kType;
  }
  static Value value(const std::vector<T>& field) { return field; }
  static void assign(std::vector<T>& field, const Value& value) { field = value.get<std::vector<T>>(); }
};
// Without a value: not given.
template <class T>
struct FieldType<std::optional<T>> : FieldType<T> {
  static Value value(const std::optional<T>& field) { return field ? Value(*field) : Value(); }
  static void assign(std::optional<T>& field, const Value& value) { field = value.get<T>(); }
};
// A value of any of option.types, which the caller gives.
template <>
struct FieldType<Value> {
  static void describe(Option&) {}
  static Value value(const Value& field) { return field; }
  static void assign(Value& field, const Value& value) { field = value; }
};
// The section [option.name]; its key `name` chooses a component of option.component_kind.
template <>
struct FieldType<Component> {
  static void describe(Option& option) { option.types = {Type::text, Type::table}; }
  static Value value(const Component& field);
  static void assign(Component& field, const Value& value);
};

// Visits each field of a struct once, in order. The same list describes, reads and writes the struct:
//
//   struct LoaderSection {
//     bool shuffle = true;
//     void fields(Fields& f) { f({.name = "shuffle", .doc = "a new order every epoch"}, shuffle); }
//   };
class Fields {
 public:
  virtual ~Fields() = default;

  template <class T>
  void operator()(Option option, T& field) {
    FieldType<T>::describe(option);
    Value value = FieldType<T>::value(field);
    if (replaces(std::move(option), value)) FieldType<T>::assign(field, value);
  }

  // The section [option.name] with the fields of `section`.
  template <class Section>
  void section(Option option, Section& section) {
    enter(std::move(option));
    section.fields(*this);
    leave();
  }

 protected:
  // Takes a field with its value, null if it has none. Returns whether it has put another one in place of the value.
  virtual bool replaces(Option option, Value& value) = 0;
  virtual void enter(Option option) = 0;
  virtual void leave() = 0;
};

// The options that a struct declares, with the defaults of its constructor.
std::vector<Option> describe(void (*visit)(void*, Fields&), void* section);
template <class Section>
const std::vector<Option>& describe() {
  static const std::vector<Option> options = [] {
    Section section;
    return describe([](void* s, Fields& f) { static_cast<Section*>(s)->fields(f); }, &section);
  }();
  return options;
}

// Fills a struct from a table that was checked against its options; keys that the table lacks keep their defaults.
// Throws ddp::Error (usage) if a value does not fit, which never happens with a checked table.
void read(const Value& table, void (*visit)(void*, Fields&), void* section);
template <class Section>
Section read(const Value& table) {
  Section section;
  read(
      table, [](void* s, Fields& f) { static_cast<Section*>(s)->fields(f); }, &section);
  return section;
}

// The reverse: every field, in order, except optionals without a value.
Value write(void (*visit)(void*, Fields&), void* section);
template <class Section>
Value write(Section section) {
  return write([](void* s, Fields& f) { static_cast<Section*>(s)->fields(f); }, &section);
}

// Reads a spec from components.json, which config::written() writes.
Spec spec_from_json(const Value& json);

}  // namespace ddp::config
