#include "config/option/option.h"

#include <array>
#include <string_view>

#include "base/error.h"

namespace ddp::config {
namespace {

// Collects the options of a struct; the current values become the defaults.
class Describer : public Fields {
 public:
  std::vector<Option> take() { return std::move(open_.front()); }

  void operator()(Option option, bool& field) override { add(option, {Type::boolean}, field); }
  void operator()(Option option, std::int64_t& field) override { add(option, {Type::integer}, field); }
  void operator()(Option option, double& field) override { add(option, {Type::number}, field); }
  void operator()(Option option, std::string& field) override { add(option, {Type::text}, field); }
  void operator()(Option option, std::vector<std::int64_t>& field) override {
    option.item = Type::integer;
    add(option, {Type::list}, field);
  }
  void operator()(Option option, std::vector<double>& field) override {
    option.item = Type::number;
    add(option, {Type::list}, field);
  }
  void operator()(Option option, std::vector<std::string>& field) override {
    option.item = Type::text;
    add(option, {Type::list}, field);
  }
  void operator()(Option option, std::optional<bool>& field) override {
    add(option, {Type::boolean}, field ? Value(*field) : Value());
  }
  void operator()(Option option, std::optional<std::int64_t>& field) override {
    add(option, {Type::integer}, field ? Value(*field) : Value());
  }
  void operator()(Option option, std::optional<double>& field) override {
    add(option, {Type::number}, field ? Value(*field) : Value());
  }
  void operator()(Option option, Value& field) override {
    const std::vector<Type> types = option.types;
    add(option, types, field);
  }
  void operator()(Option option, Component& field) override {
    add(option, {Type::text, Type::table}, field.name.empty() ? Value() : Value(field.name));
  }

 protected:
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
  void add(Option& option, std::vector<Type> types, Value default_value) {
    option.types = std::move(types);
    if (!option.required) option.default_value = std::move(default_value);
    open_.back().push_back(std::move(option));
  }

  std::vector<std::vector<Option>> open_ = {{}};
};

// Stores the values of a table in the fields of a struct.
class Reader : public Fields {
 public:
  explicit Reader(const Value& table) : open_{&table} {}

  void operator()(Option option, bool& field) override { take(option, field, &Value::is_boolean); }
  void operator()(Option option, std::int64_t& field) override { take(option, field, &Value::is_number_integer); }
  void operator()(Option option, double& field) override { take(option, field, &Value::is_number); }
  void operator()(Option option, std::string& field) override { take(option, field, &Value::is_string); }
  void operator()(Option option, std::vector<std::int64_t>& field) override {
    take_list(option, field, &Value::is_number_integer);
  }
  void operator()(Option option, std::vector<double>& field) override { take_list(option, field, &Value::is_number); }
  void operator()(Option option, std::vector<std::string>& field) override {
    take_list(option, field, &Value::is_string);
  }
  void operator()(Option option, std::optional<bool>& field) override {
    bool value = false;
    if (take(option, value, &Value::is_boolean)) field = value;
  }
  void operator()(Option option, std::optional<std::int64_t>& field) override {
    std::int64_t value = 0;
    if (take(option, value, &Value::is_number_integer)) field = value;
  }
  void operator()(Option option, std::optional<double>& field) override {
    double value = 0;
    if (take(option, value, &Value::is_number)) field = value;
  }
  void operator()(Option option, Value& field) override {
    if (const Value* value = find(option.name)) field = *value;
  }
  void operator()(Option option, Component& field) override {
    const Value* value = find(option.name);
    if (!value) return;
    if (value->is_string()) {
      field = {.name = value->get<std::string>()};
      return;
    }
    if (!value->is_object()) misfit(option.name);
    field.options = *value;
    if (field.options.contains("name")) {
      field.name = field.options["name"].get<std::string>();
      field.options.erase("name");
    }
  }

 protected:
  void enter(Option option) override {
    static const Value empty = Value::object();
    const Value* section = find(option.name);
    if (section && !section->is_object()) misfit(option.name);
    open_.push_back(section ? section : &empty);
  }
  void leave() override { open_.pop_back(); }

 private:
  using Test = bool (Value::*)() const noexcept;

  const Value* find(const std::string& name) const {
    const auto it = open_.back()->find(name);
    return it == open_.back()->end() || it->is_null() ? nullptr : &*it;
  }

  template <class T>
  bool take(const Option& option, T& field, Test fits) const {
    const Value* value = find(option.name);
    if (!value) return false;
    if (!(value->*fits)()) misfit(option.name);
    field = value->get<T>();
    return true;
  }

  template <class T>
  void take_list(const Option& option, std::vector<T>& field, Test fits) const {
    const Value* value = find(option.name);
    if (!value) return;
    if (!value->is_array()) misfit(option.name);
    for (const Value& item : *value) {
      if (!(item.*fits)()) misfit(option.name);
    }
    field = value->get<std::vector<T>>();
  }

  [[noreturn]] static void misfit(const std::string& name) {
    throw usage_error("the value of \"" + name + "\" has the wrong type");
  }

  std::vector<const Value*> open_;
};

// Writes the fields of a struct to a table.
class Writer : public Fields {
 public:
  Value take() { return std::move(open_.front()); }

  void operator()(Option option, bool& field) override { put(option, field); }
  void operator()(Option option, std::int64_t& field) override { put(option, field); }
  void operator()(Option option, double& field) override { put(option, field); }
  void operator()(Option option, std::string& field) override { put(option, field); }
  void operator()(Option option, std::vector<std::int64_t>& field) override { put(option, field); }
  void operator()(Option option, std::vector<double>& field) override { put(option, field); }
  void operator()(Option option, std::vector<std::string>& field) override { put(option, field); }
  void operator()(Option option, std::optional<bool>& field) override {
    if (field) put(option, *field);
  }
  void operator()(Option option, std::optional<std::int64_t>& field) override {
    if (field) put(option, *field);
  }
  void operator()(Option option, std::optional<double>& field) override {
    if (field) put(option, *field);
  }
  void operator()(Option option, Value& field) override {
    if (!field.is_null()) put(option, field);
  }
  void operator()(Option option, Component& field) override {
    if (field.name.empty()) return;
    Value table = Value::object();
    table["name"] = field.name;
    for (const auto& [key, value] : field.options.items()) table[key] = value;
    put(option, std::move(table));
  }

 protected:
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
  void put(const Option& option, Value value) { open_.back()[option.name] = std::move(value); }

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

Value range_to_json(const Range& range) {
  Value json = Value::object();
  if (range.minimum) json["minimum"] = *range.minimum;
  if (range.maximum) json["maximum"] = *range.maximum;
  if (range.minimum_excluded) json["minimum_excluded"] = true;
  if (range.maximum_excluded) json["maximum_excluded"] = true;
  return json;
}

Range range_from_json(const Value& json) {
  Range range;
  if (json.contains("minimum")) range.minimum = json["minimum"].get<double>();
  if (json.contains("maximum")) range.maximum = json["maximum"].get<double>();
  range.minimum_excluded = json.value("minimum_excluded", false);
  range.maximum_excluded = json.value("maximum_excluded", false);
  return range;
}

Value option_to_json(const Option& option) {
  Value json = Value::object();
  json["name"] = option.name;
  if (!option.doc.empty()) json["doc"] = option.doc;
  if (!option.aliases.empty()) json["aliases"] = option.aliases;
  for (Type type : option.types) json["types"].push_back(type_name(type));
  if (option.item) json["item"] = type_name(*option.item);
  if (const Value range = range_to_json(option.range); !range.empty()) json["range"] = range;
  if (!option.choices.empty()) json["choices"] = option.choices;
  if (!option.form.empty()) json["form"] = option.form;
  if (option.required) json["required"] = true;
  if (!option.from_data.empty()) json["from_data"] = option.from_data;
  if (!option.names_kind.empty()) json["names_kind"] = option.names_kind;
  if (option.path) json["path"] = true;
  if (option.names_run) json["names_run"] = true;
  if (!option.words.empty()) json["words"] = option.words;
  if (option.length) json["length"] = *option.length;
  if (!option.default_value.is_null()) json["default"] = option.default_value;
  for (const Spec& variant : option.variants) json["variants"].push_back(to_json(variant));
  if (!option.component_kind.empty()) json["component_kind"] = option.component_kind;
  for (const Option& key : option.section) json["section"].push_back(option_to_json(key));
  return json;
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

Value to_json(const Spec& spec) {
  Value json = Value::object();
  json["name"] = spec.name;
  json["doc"] = spec.doc;
  json["options"] = Value::array();
  for (const Option& option : spec.options) json["options"].push_back(option_to_json(option));
  json["traits"] = spec.traits;
  return json;
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
