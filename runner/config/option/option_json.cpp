#include <array>
#include <string_view>

#include "base/error.h"
#include "config/option/option.h"

namespace ddp::config {
namespace {

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
