#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/option/value.h"

namespace ddp::config {

class Fields;  // config/option/fields.h

// The range of a number; minimum and maximum belong to it unless excluded.
struct Range {
  std::optional<double> minimum = {};
  std::optional<double> maximum = {};
  bool minimum_excluded = false;
  bool maximum_excluded = false;

  bool any() const { return minimum || maximum || minimum_excluded || maximum_excluded; }
  bool holds(double number) const;
  void fields(Fields& f);
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
  void fields(Fields& f);
};

// One key of a section or a component, with all that reading, checking, printing, the JSON Schema and the help need. A
// struct's `fields` function gives name, doc and limits; the rest follows from the C++ type of the field.
struct Option {
  std::string name = {};
  std::string doc = {};
  std::vector<std::string> aliases = {};   // other programs' names of this key: never taken, only hinted at
  Range range = {};                        // of a number, or of each number of a list
  std::vector<std::string> choices = {};   // of a text: the only allowed values
  std::string pattern = {};                // of a text in JSON: its regular expression; of a map: that of its keys
  bool optional = false;                   // of JSON: left out if it has no value
  bool may_be_null = false;                // of JSON: null for a number that is not finite, or a text that is empty
  bool may_be_missing = false;             // of JSON: files of older versions lack it
  std::string form = {};                   // of a text: the name of its form, for text_form()
  std::vector<std::string> numbered = {};  // with choices: each of these followed by a whole number is also a choice
  bool required = false;
  std::string from_data = {};              // of a model: the fact of the data that gives the value if the file does not
  std::string open_prefix = {};            // with choices: a text that begins so is also a choice; "": none
  std::string names_kind = {};             // of a text: supply_names() adds the names of this kind to `choices`
  bool path = false;                       // a file name, relative to the experiment file that gives it
  bool urls = false;                       // of a path: may also be a URL (base/url.h)
  bool is_made = false;                    // of a path: the program makes the file or folder
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
  void fields(Fields& f);
};

inline bool takes_type(const Option& option, Type type) {
  return std::find(option.types.begin(), option.types.end(), type) != option.types.end();
}

// An object that a URL of an option names, as it was when the program looked at it.
struct Object {
  std::string given = {};     // the text of the option: a URL, or a pattern that stands for several objects
  std::string url = {};       // of this object
  std::int64_t bytes = 0;     // its size
  std::string etag = {};      // changes with its content; "": the server gives none
  std::string version = {};   // of the object in its bucket; "": the bucket has no versions
  std::int64_t modified = 0;  // nanoseconds since 1970; 0: the server does not say
  bool has_ranges = true;     // the server sends a part of it
  std::string file = {};      // its copy in the cache folder; of a stream, which has none: the URL without its query

  // Differs for other objects, and for another content of the same one. Has no text if the server tells nothing of the
  // content.
  std::string content() const;

  static constexpr const char* kDefinition = "object";
  void fields(Fields& f);
};

// A component that a file chose: `[model] name = "mlp", hidden = [64]`. The options hold only the given keys until
// load() fills in the defaults.
struct Component {
  std::string name = {};
  Value options = Value::object();
  // By their options: the files that are read in place of those that the options name. No part of the file.
  std::map<std::string, std::string> copies = {};
  // The objects that its options name by URLs; their copies are read. No part of the file.
  std::vector<Object> objects = {};
  std::shared_ptr<const void> objects_in_use = {};  // keeps the copies in the cache

  // Returns the options with these files.
  Value with_copies() const;
};

}  // namespace ddp::config
