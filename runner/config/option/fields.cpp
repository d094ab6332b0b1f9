#include "config/option/fields.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ddp::config {
namespace {

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

// Integers of JSON are counts, unless a range says otherwise.
Range range_of(const Option& option, const Value& value) {
  const bool counts = value.is_number_integer() && !option.range.minimum && option.types == std::vector{Type::integer};
  return counts ? at_least(0) : option.range;
}

Error wrong_type() { return usage_error("has the wrong type"); }

}  // namespace

void require_type(const Value& value, Type type) {
  if (!has_type(value, type)) throw wrong_type();
}

std::int64_t integer_of(const Value& value, std::int64_t least, std::int64_t most) {
  const bool is_whole = value.is_number_integer();
  const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  const std::int64_t number = is_whole ? value.get<std::int64_t>() : 0;
  if (is_whole && !too_large && number >= least && number <= most) return number;
  throw usage_error("is not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

std::size_t place_of_name(const std::string& name, std::span<const char* const> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw usage_error("\"" + name + "\" is none of " +
                    Value(std::vector<std::string>(names.begin(), names.end())).dump());
}

void Fields::named(const std::string& field, const std::function<void()>& assign) try {
  assign();
} catch (const Error& error) {
  const bool is_deeper = error.summary().starts_with('"');
  throw usage_error("\"" + field + "\"" + (is_deeper ? ": " : " ") + error.summary());
}

void Fields::version() {
  Value version = 1;
  (*this)({.name = "version"}, version, {{"const", 1}});
  if (version != 1) throw usage_error("\"version\" is not 1");
}

namespace {

// Collects the options of a struct; the current values become the defaults.
class Describer : public Fields {
 public:
  std::vector<Option> take() { return std::move(open_.front()); }

 protected:
  bool replaces(Option& option, Value& value) override {
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

// Stores the values of a table in the fields of a struct. `strict`: written() made the table, or it is damaged.
class Reader : public Fields {
 public:
  Reader(const Value& table, bool strict) : open_{&table}, strict_(strict) { require_type(table, Type::table); }
  bool reads() const override { return true; }

 protected:
  bool replaces(Option& option, Value& value) override {
    const Value* given = find(option);
    if (given == nullptr) return false;
    value = *given;
    return true;
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
    const auto refused = [&](const std::string& why) { return usage_error("\"" + option.name + "\" " + why); };
    const auto found = open_.back()->find(option.name);
    if (found == open_.back()->end()) {
      if (strict_ && !option.optional && !option.may_be_missing) throw refused("is missing");
      return nullptr;
    }
    if (found->is_null() && strict_ && option.may_be_null) return &*found;
    if (found->is_null() && !strict_) return nullptr;
    if (option.types == std::vector{Type::integer} && !found->is_number_integer()) {
      throw refused("is not a whole number");
    }
    const auto fits = [&](Type type) { return has_type(*found, type); };
    if (!option.types.empty() && std::none_of(option.types.begin(), option.types.end(), fits)) {
      throw refused("has the wrong type");
    }
    if (!strict_) return &*found;
    const bool is_other = found->is_string() && !option.choices.empty() &&
                          std::find(option.choices.begin(), option.choices.end(), *found) == option.choices.end();
    if (is_other) throw refused("is none of " + Value(option.choices).dump());
    if (found->is_number() && !range_of(option, *found).holds(found->get<double>())) {
      throw refused(found->is_number_integer() ? "is not a whole number of its range" : "is out of its range");
    }
    return &*found;
  }

  std::vector<const Value*> open_;
  const bool strict_;
};

// Writes the fields of a struct to a table. `nulls`: an optional without a value is null.
class Writer : public Fields {
 public:
  explicit Writer(bool nulls) : nulls_(nulls) {}
  Value take() { return std::move(open_.front()); }

 protected:
  bool replaces(Option& option, Value& value) override {
    const bool left_out = value.is_null() && (option.optional || !nulls_);
    if (!left_out) open_.back()[option.name] = std::move(value);
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
  const bool nulls_;
  std::vector<Value> open_ = {Value::object()};
  std::vector<std::string> names_;
};

// Describes what written() makes of a struct.
class SchemaMaker : public Fields {
 public:
  explicit SchemaMaker(Value& defs) : Fields(&defs) {}
  Value take() {
    Value schema = {{"type", "object"},
                    {"properties", std::move(members_)},
                    {"required", std::move(required_)},
                    {"additionalProperties", false}};
    if (const auto any = patterns_.find(""); any != patterns_.end()) {
      schema["additionalProperties"] = *any;
      patterns_.erase(any);
    }
    if (!patterns_.empty()) schema["patternProperties"] = std::move(patterns_);
    return schema;
  }
  void not_finite() override {
    members_["finite"] = {{"description", "present if a number is null because it was not finite"}, {"const", false}};
  }

 protected:
  bool replaces(Option&, Value&) override { return false; }
  void enter(Option) override {}
  void leave() override {}
  void note(const Option& option, Value schema) override {
    Value described = Value::object();
    if (!option.doc.empty()) described["description"] = option.doc;
    described.update(schema);
    members_[option.name] = std::move(described);
    if (!option.optional) required_.push_back(option.name);
  }
  void note_numbers(const char* pattern, const char* doc, const char* always) override {
    if (*always != '\0') note({.name = always}, or_null({{"type", "number"}}));
    patterns_[pattern] = {{"description", doc}, {"type", {"number", "null"}}};
  }

 private:
  Value members_ = Value::object();
  Value required_ = Value::array();
  Value patterns_ = Value::object();
};

}  // namespace

std::vector<Option> describe(Visit visit, void* section) {
  Describer describer;
  visit(section, describer);
  return describer.take();
}

void read(const Value& table, Visit visit, void* section) {
  Reader reader(table, /*strict=*/false);
  visit(section, reader);
}

void read_written(const Value& object, Visit visit, void* section) {
  Reader reader(object, /*strict=*/true);
  visit(section, reader);
}

Value write(Visit visit, void* section) {
  Writer writer(/*nulls=*/false);
  visit(section, writer);
  return writer.take();
}

Value written(Visit visit, void* object) {
  Writer writer(/*nulls=*/true);
  visit(object, writer);
  return writer.take();
}

Value schema_of_object(Visit visit, void* object, Value& defs) {
  SchemaMaker maker(defs);
  visit(object, maker);
  return maker.take();
}

Value titled_schema(const std::string& title, Value (*schema_of)(Value& defs)) {
  Value schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  Value defs = Value::object();
  schema.update(schema_of(defs));
  if (!defs.empty()) schema["$defs"] = std::move(defs);
  return schema;
}

Value or_null(Value schema) { return {{"anyOf", Value::array({std::move(schema), {{"type", "null"}}})}}; }

Value schema_of_boolean() { return {{"type", "boolean"}}; }

Value schema_of_integer(const Option& option) {
  return {{"type", "integer"}, {"minimum", static_cast<std::int64_t>(option.range.minimum.value_or(0))}};
}

Value schema_of_number(const Option& option) {
  Value number = {{"type", "number"}};
  return option.may_be_null ? or_null(std::move(number)) : number;
}

Value schema_of_text(const Option& option) {
  Value text = {{"type", "string"}};
  if (!option.pattern.empty()) text["pattern"] = option.pattern;
  if (!option.choices.empty()) text["enum"] = option.choices;
  return option.may_be_null ? or_null(std::move(text)) : text;
}

Value schema_of_value(const Option& option) {
  if (option.types.empty()) return Value::object();
  return {{"type", option.types.front() == Type::list ? "array" : "object"}};
}

Value schema_of_list(Value items) { return {{"type", "array"}, {"items", std::move(items)}}; }

Value schema_of_map(const Option& option, Value values) {
  if (option.pattern.empty()) return {{"type", "object"}, {"additionalProperties", std::move(values)}};
  Value keys = Value::object();
  keys[option.pattern] = std::move(values);
  return {{"type", "object"}, {"patternProperties", std::move(keys)}, {"additionalProperties", false}};
}

}  // namespace ddp::config
