#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"

namespace ddp::config {

enum class Type { boolean, integer, number, text, list, table };

// The range that a number must lie in. `number > minimum` where minimum_excluded.
struct Range {
  std::optional<double> minimum = {};
  std::optional<double> maximum = {};
  bool minimum_excluded = false;
  bool maximum_excluded = false;
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

// A component's name and options: "mlp", and what may stand in its [model] table.
struct Spec {
  std::string name = {};
  std::string doc = {};
  std::vector<Option> options;
  Value traits = Value::object();  // facts for checks without tensors: a dataset's {"loss": "mse"}
};

// One key that a section or a component knows: all that reading, checking, printing, the JSON Schema and
// the help need. A struct's `fields` function fills name, doc and the limits; the rest follows from the
// C++ type of the field.
struct Option {
  std::string name = {};
  std::string doc = {};
  Range range = {};                        // of a number, or of each number of a list
  std::vector<std::string> choices = {};   // of a text: the only values
  std::string form = {};                   // of a text: the form that it has, as text_form() knows it
  std::vector<std::string> numbered = {};  // with choices: a whole number behind one of these is another choice
  bool required = false;
  std::string from_data = {};   // of a model: the fact of the data that gives its value where the file leaves it out
  std::string names_kind = {};  // a text: supply_names() adds the names of this kind to `choices`
  bool path = false;            // a file: relative to the experiment file that names it
  bool names_run = false;       // of a path: it may also be the name of a run, which stays as it is given
  std::vector<std::string> words = {};     // of a path: texts that are none
  std::optional<std::size_t> length = {};  // of a list
  std::vector<Type> types = {};            // what the value may be; several where PyTorch takes an int or a list
  std::optional<Type> item = {};           // of a list: what each of its values is
  Value default_value = {};                // null: none
  std::vector<Spec> variants = {};         // of a list of tables: one of these each, told by the table's "type"
  std::vector<Option> item_keys = {};      // of a list of tables: the keys of each
  std::string item_kind = {};              // of these: the kind whose component has options among these keys, and
  std::string item_component = {};         // that component; empty: any of them
  std::string component_kind = {};         // of a section that names a component: "model", "dataset", …
  std::vector<Option> section = {};        // of a section: its keys
};

// What a file chose under a name: `[model] name = "mlp", hidden = [64]`. Options hold only what was given
// until `load` has filled in the defaults; afterwards every option that has a default is there.
struct Component {
  std::string name = {};
  Value options = Value::object();
};

// Visits a struct's fields, each once, in order. The same list describes, reads, and writes the struct:
//
//   struct LoaderSection {
//     bool shuffle = true;
//     void fields(Fields& f) { f({.name = "shuffle", .doc = "a new order every epoch"}, shuffle); }
//   };
class Fields {
 public:
  virtual ~Fields() = default;
  virtual void operator()(Option option, bool& field) = 0;
  virtual void operator()(Option option, std::int64_t& field) = 0;
  virtual void operator()(Option option, double& field) = 0;
  virtual void operator()(Option option, std::string& field) = 0;
  virtual void operator()(Option option, std::vector<std::int64_t>& field) = 0;
  virtual void operator()(Option option, std::vector<double>& field) = 0;
  virtual void operator()(Option option, std::vector<std::string>& field) = 0;
  virtual void operator()(Option option, std::optional<bool>& field) = 0;
  virtual void operator()(Option option, std::optional<std::int64_t>& field) = 0;
  virtual void operator()(Option option, std::optional<double>& field) = 0;
  // Any value of option.types (given by the caller).
  virtual void operator()(Option option, Value& field) = 0;
  // The section [option.name], whose name key chooses a component of option.component_kind.
  virtual void operator()(Option option, Component& field) = 0;

  // The section [option.name] with the fields of `section`.
  template <class Section>
  void section(Option option, Section& section) {
    enter(std::move(option));
    section.fields(*this);
    leave();
  }

 protected:
  virtual void enter(Option option) = 0;
  virtual void leave() = 0;
};

// The options that a struct declares, with the defaults that it was constructed with.
std::vector<Option> describe(void (*visit)(void*, Fields&), void* section);
template <class Section>
std::vector<Option> describe() {
  Section section;
  return describe([](void* s, Fields& f) { static_cast<Section*>(s)->fields(f); }, &section);
}

// Fills a struct from a table that has been checked against its options; keys that the table lacks keep
// their defaults. Throws ddp::Error (usage) where a value does not fit, which a checked table never does.
void read(const Value& table, void (*visit)(void*, Fields&), void* section);
template <class Section>
Section read(const Value& table) {
  Section section;
  read(
      table, [](void* s, Fields& f) { static_cast<Section*>(s)->fields(f); }, &section);
  return section;
}

// The reverse: every field, in order; optionals without a value are left out.
Value write(void (*visit)(void*, Fields&), void* section);
template <class Section>
Value write(Section section) {
  return write([](void* s, Fields& f) { static_cast<Section*>(s)->fields(f); }, &section);
}

// Options and specs as JSON and back: components.json.
Value to_json(const Spec& spec);
Spec spec_from_json(const Value& json);

}  // namespace ddp::config
