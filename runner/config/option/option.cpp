#include "config/option/option.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "config/output.h"

namespace ddp::config {
namespace {

// Collects the options of a struct; the current values become the defaults.
class Describer : public Fields {
 public:
  std::vector<Option> take() { return std::move(open_.front()); }

 protected:
  bool replaces(Option option, Value& value) override {
    const bool names_component = !option.component_kind.empty() && value.is_object();
    if (!option.required) option.default_value = names_component ? value["name"] : std::move(value);
    open_.back().push_back(std::move(option));
    return false;
  }
  void enter(Option option) override {
    option.types = {Type::table};
    open_.back().push_back(std::move(option));
    open_.emplace_back();
  }
  void leave() override {
    std::vector<Option> keys = std::move(open_.back());
    open_.pop_back();
    open_.back().back().section = std::move(keys);
  }

 private:
  std::vector<std::vector<Option>> open_ = {{}};
};

bool has_type(const Value& value, Type type) {
  switch (type) {
    case Type::boolean:
      return value.is_boolean();
    case Type::integer:
      return value.is_number_integer();
    case Type::number:
      return value.is_number();
    case Type::text:
      return value.is_string();
    case Type::list:
      return value.is_array();
    case Type::table:
      return value.is_object();
    case Type::date:
      break;
  }
  return false;
}

// Does the value have one of the option's types, and each value of a list the type of the list's values?
bool fits(const Value& value, const Option& option) {
  if (value.is_array() && option.item) {
    return std::all_of(value.begin(), value.end(), [&](const Value& item) { return has_type(item, *option.item); });
  }
  return std::any_of(option.types.begin(), option.types.end(), [&](Type type) { return has_type(value, type); });
}

// Stores the values of a table in the fields of a struct.
class Reader : public Fields {
 public:
  explicit Reader(const Value& table) : open_{&table} {}

 protected:
  bool replaces(Option option, Value& value) override {
    const Value* given = find(option);
    if (given) value = *given;
    return given != nullptr;
  }
  void enter(Option option) override {
    static const Value empty = Value::object();
    option.types = {Type::table};
    const Value* section = find(option);
    open_.push_back(section ? section : &empty);
  }
  void leave() override { open_.pop_back(); }

 private:
  const Value* find(const Option& option) const {
    const auto found = open_.back()->find(option.name);
    if (found == open_.back()->end() || found->is_null()) return nullptr;
    if (!fits(*found, option)) throw usage_error("the value of \"" + option.name + "\" has the wrong type");
    return &*found;
  }

  std::vector<const Value*> open_;
};

// Writes the fields of a struct to a table.
class Writer : public Fields {
 public:
  Value take() { return std::move(open_.front()); }

 protected:
  bool replaces(Option option, Value& value) override {
    if (!value.is_null()) open_.back()[option.name] = std::move(value);
    return false;
  }
  void enter(Option option) override {
    names_.push_back(option.name);
    open_.push_back(Value::object());
  }
  void leave() override {
    Value section = std::move(open_.back());
    open_.pop_back();
    // Leaves out an empty section: an empty [ema] would turn the average on.
    if (!section.empty()) open_.back()[names_.back()] = std::move(section);
    names_.pop_back();
  }

 private:
  std::vector<Value> open_ = {Value::object()};
  std::vector<std::string> names_;
};

constexpr std::array<std::string_view, 6> kTypeNames = {"boolean", "integer", "number", "text", "list", "table"};

std::string type_name(Type type) { return std::string(kTypeNames[static_cast<std::size_t>(type)]); }

Type type_from(const std::string& name) {
  for (std::size_t i = 0; i < kTypeNames.size(); ++i) {
    if (kTypeNames[i] == name) return static_cast<Type>(i);
  }
  throw usage_error("components.json names an unknown type \"" + name + "\"");
}

Range range_from_json(const Value& json) {
  Range range;
  if (json.contains("minimum")) range.minimum = json["minimum"].get<double>();
  if (json.contains("maximum")) range.maximum = json["maximum"].get<double>();
  range.minimum_excluded = json.value("minimum_excluded", false);
  range.maximum_excluded = json.value("maximum_excluded", false);
  return range;
}

Option option_from_json(const Value& json) {
  Option option{.name = json.at("name").get<std::string>(), .doc = json.value("doc", "")};
  for (const Value& type : json.value("types", Value::array())) {
    option.types.push_back(type_from(type.get<std::string>()));
  }
  option.aliases = json.value("aliases", std::vector<std::string>());
  if (json.contains("item")) option.item = type_from(json["item"].get<std::string>());
  option.range = range_from_json(json.value("range", Value::object()));
  option.choices = json.value("choices", std::vector<std::string>());
  option.form = json.value("form", "");
  option.required = json.value("required", false);
  option.from_data = json.value("from_data", "");
  option.names_kind = json.value("names_kind", "");
  option.path = json.value("path", false);
  option.names_run = json.value("names_run", false);
  option.words = json.value("words", std::vector<std::string>());
  if (json.contains("length")) option.length = json["length"].get<std::size_t>();
  option.default_value = json.value("default", Value());
  for (const Value& variant : json.value("variants", Value::array())) {
    option.variants.push_back(spec_from_json(variant));
  }
  option.component_kind = json.value("component_kind", "");
  for (const Value& key : json.value("section", Value::array())) option.section.push_back(option_from_json(key));
  return option;
}

}  // namespace

Value FieldType<Component>::value(const Component& field) {
  if (field.name.empty()) return nullptr;
  Value table = {{"name", field.name}};
  table.update(field.options);
  return table;
}

void FieldType<Component>::assign(Component& field, const Value& value) {
  if (value.is_string()) {
    field = {.name = value.get<std::string>()};
    return;
  }
  field.options = value;
  field.name = value.value("name", field.name);
  field.options.erase("name");
}

std::vector<Option> describe(void (*visit)(void*, Fields&), void* section) {
  Describer describer;
  visit(section, describer);
  return describer.take();
}

void read(const Value& table, void (*visit)(void*, Fields&), void* section) {
  Reader reader(table);
  visit(section, reader);
}

Value write(void (*visit)(void*, Fields&), void* section) {
  Writer writer;
  visit(section, writer);
  return writer.take();
}

void Range::members(Members& m) const {
  m({.name = "minimum", .optional = true}, minimum);
  m({.name = "maximum", .optional = true}, maximum);
  m({.name = "minimum_excluded", .optional = true}, minimum_excluded);
  m({.name = "maximum_excluded", .optional = true}, maximum_excluded);
}

void Option::members(Members& m) const {
  constexpr const char* kChoices = "boolean|integer|number|text|list|table";
  std::vector<std::string> type_names;
  for (const Type type : types) type_names.push_back(type_name(type));
  const bool ranged = range.minimum || range.maximum || range.minimum_excluded || range.maximum_excluded;
  m({"name"}, name);
  m({.name = "doc", .optional = true}, doc);
  m({.name = "aliases", .doc = "other programs' names of this key", .optional = true}, aliases);
  m({.name = "types", .choices = kChoices, .optional = true}, type_names);
  m({.name = "item", .choices = kChoices, .optional = true}, item ? std::optional(type_name(*item)) : std::nullopt);
  m({.name = "range", .optional = true}, ranged ? std::optional(range) : std::nullopt);
  m({.name = "choices", .optional = true}, choices);
  m({.name = "form", .optional = true}, form);
  m({.name = "required", .optional = true}, required);
  m({.name = "from_data", .doc = "the size of the data that replaces a missing value", .optional = true}, from_data);
  m({.name = "names_kind", .optional = true}, names_kind);
  m({.name = "path", .doc = "a file, relative to the experiment file that names it", .optional = true}, path);
  m({.name = "names_run", .optional = true}, names_run);
  m({.name = "words", .doc = "texts that are allowed instead of a path", .optional = true}, words);
  m({.name = "length", .optional = true}, length);
  m({.name = "default", .optional = true}, default_value);
  m({.name = "variants", .doc = "for a list of tables: the allowed tables, by their type", .optional = true}, variants);
  m({.name = "component_kind", .optional = true}, component_kind);
  m({.name = "section", .optional = true}, section);
}

void Spec::members(Members& m) const {
  m({"name"}, name);
  m({"doc"}, doc);
  m({"options"}, options);
  m({.name = "traits", .doc = "facts for checks without tensors", .type = "object"}, traits);
}

Spec spec_from_json(const Value& json) {
  Spec spec{.name = json.at("name").get<std::string>(), .doc = json.value("doc", ""), .options = {}};
  for (const Value& option : json.value("options", Value::array())) {
    spec.options.push_back(option_from_json(option));
  }
  spec.traits = json.value("traits", Value::object());
  return spec;
}

}  // namespace ddp::config
