#include <cmath>

#include "config/experiment.h"
#include "config/length.h"
#include "config/load/load.h"
#include "config/load/sweep.h"

namespace ddp::config {
namespace {

Value schema_of(const Option& option, const Components& components);

Value bound(double number) {
  return number == std::floor(number) ? Value(static_cast<std::int64_t>(number)) : Value(number);
}

void add_range(Value& schema, const Range& range) {
  if (range.minimum) schema["minimum"] = bound(*range.minimum);
  if (range.maximum) schema["maximum"] = bound(*range.maximum);
  if (range.minimum_excluded) schema["exclusiveMinimum"] = true;
  if (range.maximum_excluded) schema["exclusiveMaximum"] = true;
}

// A table with the keys of `options` and no others. Draft 4 cannot express that a required key may be inherited, so
// only `validate` reports a missing key.
Value table(const std::vector<Option>& options, const Components& components) {
  Value schema = {{"type", "object"}, {"properties", Value::object()}, {"additionalProperties", false}};
  for (const Option& option : options) schema["properties"][option.name] = schema_of(option, components);
  return schema;
}

// The table of a component, identified by the value of `tag`: its "name", or a layer's "type".
Value tagged_table(const Spec& spec, const std::string& tag, const Components& components) {
  Value schema = {{"description", spec.doc}};
  schema.update(table(spec.options, components));
  schema["properties"][tag] = {{"enum", {spec.name}}};
  return schema;
}

Value component(const Option& option, const Components& components) {
  Value short_form = {{"type", "string"}, {"enum", Value::array()}};
  Value forms = Value::array();
  for (const auto& [name, spec] : components.of(option.component_kind)) {
    short_form["enum"].push_back(name);
    forms.push_back(tagged_table(spec, "name", components));
  }
  if (forms.empty()) short_form.erase("enum");  // draft 4 forbids an empty enum
  forms.insert(forms.begin(), std::move(short_form));
  return {{"anyOf", std::move(forms)}};
}

Value list(const Option& option, const Components& components) {
  Value schema = {{"type", "array"}};
  if (option.length) schema["minItems"] = schema["maxItems"] = *option.length;
  if (!option.variants.empty()) {
    Value forms = Value::array();
    for (const Spec& spec : option.variants) {
      forms.push_back(tagged_table(spec, "type", components));
      forms.back()["required"] = {"type"};
    }
    schema["items"] = {{"anyOf", std::move(forms)}};
  } else if (!option.item_keys.empty()) {
    schema["items"] = table(option.item_keys, components);
    for (const Option& key : option.item_keys) {
      if (key.required) schema["items"]["required"].push_back(key.name);
    }
  } else if (!option.form.empty()) {
    schema["items"] =
        schema_of({.name = "", .range = option.range, .form = option.form, .types = kTypesWithForm}, components);
  } else if (option.item) {
    schema["items"] = schema_of({.name = "",
                                 .range = option.range,
                                 .choices = option.choices,
                                 .numbered = option.numbered,
                                 .types = {*option.item}},
                                components);
  }
  return schema;
}

Value of_type(const Option& option, Type type, const Components& components) {
  Value schema = Value::object();
  switch (type) {
    case Type::boolean:
      return {{"type", "boolean"}};
    case Type::integer:
    case Type::number:
      schema["type"] = type == Type::integer ? "integer" : "number";
      add_range(schema, option.range);
      return schema;
    case Type::text:
      schema["type"] = "string";
      if (!option.form.empty()) schema["pattern"] = text_form(option.form).pattern;
      if (option.choices.empty()) return schema;
      if (option.numbered.empty()) {
        schema["enum"] = option.choices;
        return schema;
      }
      schema["anyOf"] = Value::array({Value{{"enum", option.choices}}});
      for (const std::string& prefix : option.numbered) {
        schema["anyOf"].push_back(Value{{"pattern", "^" + prefix + "[1-9][0-9]{0,8}$"}});
      }
      return schema;
    case Type::list:
      return list(option, components);
    case Type::table:
      return option.section.empty() ? Value{{"type", "object"}} : table(option.section, components);
    case Type::date:
      break;
  }
  return schema;
}

Value schema_of(const Option& option, const Components& components) {
  Value schema = Value::object();
  if (!option.doc.empty()) schema["description"] = option.doc;
  if (!option.aliases.empty()) schema["x-aliases"] = option.aliases;
  if (!option.default_value.is_null() && option.default_value != "") schema["default"] = option.default_value;
  if (!option.component_kind.empty()) {
    schema.update(component(option, components));
  } else if (option.types.size() == 1) {
    schema.update(of_type(option, option.types.front(), components));
  } else {
    for (Type type : option.types) schema["anyOf"].push_back(of_type(option, type, components));
  }
  return schema;
}

// Adds a top-level key that is short for a key of a section; a file may not give both.
void add_short_form(Value& schema, const ShortForm& form) {
  Value key = schema["properties"][form.section]["properties"][form.key];
  key["description"] = "short for " + std::string(form.section) + "." + form.key;
  schema["properties"][form.key] = std::move(key);
  Value both = {{"required", {form.key, form.section}}};
  both["properties"][form.section] = {{"required", {form.key}}};
  schema["allOf"].push_back({{"not", std::move(both)}});
}

// A key that varies has a list of values or a range; a table of such keys may be nested.
Value sweep(const Components& components) {
  Value schema = {{"description", "the search of `ddp-exp sweep`"}};
  schema.update(table(sweep_options(components), components));
  const Value range = {{"type", "object"},
                       {"required", {"min", "max"}},
                       {"properties",
                        {{"min", {{"type", "number"}}},
                         {"max", {{"type", "number"}}},
                         {"step", {{"type", "number"}, {"minimum", 0}, {"exclusiveMinimum", true}}},
                         {"scale", {{"enum", {"linear", "log"}}}}}},
                       {"additionalProperties", false}};
  const Value list = {{"type", "array"}, {"minItems", 1}};
  const Value deeper = {
      {"type", "object"},
      {"not", {{"anyOf", Value::array({Value{{"required", {"min"}}}, Value{{"required", {"max"}}}})}}}};
  schema["properties"]["parameters"]["additionalProperties"] = {{"anyOf", Value::array({list, range, deeper})}};
  return schema;
}

}  // namespace

Value schema(const Components& components) {
  Value schema = {{"$schema", "http://json-schema.org/draft-04/schema#"}, {"title", "an experiment of ddp-exp"}};
  std::vector<Option> options = describe<Experiment>();
  supply_names(options, components);
  supply_group_keys(options, components, "");
  schema.update(table(options, components));
  schema["properties"]["extends"] = {{"type", "string"},
                                     {"description", "another experiment file, for the keys that this one lacks"}};
  schema["properties"]["sweep"] = sweep(components);
  for (const ShortForm& form : kShortForms) add_short_form(schema, form);
  for (const ShortForm& form : kTextForms) {
    Value& section = schema["properties"][form.section];
    Value forms = Value::array({section["properties"][form.key], section});
    section = {{"description", section["description"]}, {"anyOf", std::move(forms)}};
  }
  for (const auto& [section, first, second] : kAlternatives) {
    const Value both = {{"not", {{"required", {first, second}}}}};
    if (*section == '\0') {
      schema["allOf"].push_back(both);
    } else {
      schema["properties"][section].update(both);
    }
  }
  Value required = Value::array();
  for (const Option& option : options) {
    if (option.required) required.push_back(option.name);
  }
  schema["anyOf"] =
      Value::array({Value{{"required", std::move(required)}}, Value{{"required", Value::array({"extends"})}}});
  return schema;
}

}  // namespace ddp::config
