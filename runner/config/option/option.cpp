#include "config/option/option.h"

#include "base/url.h"
#include "config/option/fields.h"

namespace ddp::config {

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

void Object::fields(Fields& f) {
  f({.name = "given"}, given);
  f({.name = "url"}, url);
  f({.name = "bytes"}, bytes);
  f({.name = "etag"}, etag);
  f({.name = "version"}, version);
  f({.name = "modified"}, modified);
  f({.name = "has_ranges"}, has_ranges);
  f({.name = "file"}, file);
}

std::string Object::content() const {
  std::string state = !etag.empty() ? etag : version;
  if (state.empty() && modified != 0) state = std::to_string(modified);
  if (state.empty()) return "";
  return (is_signed(url) ? without_query(url) : url) + '\0' + state + '\0' + std::to_string(bytes);
}

Value Component::with_copies() const {
  Value all = options;
  for (const auto& [option, copy] : copies) all[option] = copy;
  if (objects.empty()) return all;
  for (Value& value : all) {
    Value files = Value::array();
    bool has_urls = false;
    for (const Value& one : value.is_array() ? value : Value::array({value})) {
      const bool is_given = one.is_string() && is_url(one.get_ref<const std::string&>());
      if (!is_given) files.push_back(one);
      for (const Object& object : objects) {
        if (!is_given || one != object.given) continue;
        files.push_back(object.file);
        has_urls = true;
      }
    }
    if (has_urls) value = value.is_array() || files.size() > 1 ? files : files.front();
  }
  return all;
}

bool Range::holds(double number) const {
  if (minimum && (minimum_excluded ? number <= *minimum : number < *minimum)) return false;
  return !maximum || (maximum_excluded ? number < *maximum : number <= *maximum);
}

void Range::fields(Fields& f) {
  f({.name = "minimum", .optional = true}, minimum);
  f({.name = "maximum", .optional = true}, maximum);
  f({.name = "minimum_excluded", .optional = true}, minimum_excluded);
  f({.name = "maximum_excluded", .optional = true}, maximum_excluded);
}

void Option::fields(Fields& f) {
  constexpr auto kTypes = names_of(Type{});
  const std::vector<std::string> type_names(kTypes.begin(), kTypes.end());
  f({.name = "name"}, name);
  f({.name = "doc", .optional = true}, doc);
  f({.name = "aliases", .doc = "other programs' names of this key", .optional = true}, aliases);
  f({.name = "types", .choices = type_names, .optional = true}, types);
  f({.name = "item", .choices = type_names, .optional = true}, item);
  f({.name = "range", .optional = true}, range);
  f({.name = "choices", .optional = true}, choices);
  f({.name = "form", .optional = true}, form);
  f({.name = "required", .optional = true}, required);
  f({.name = "from_data", .doc = "the size of the data that replaces a missing value", .optional = true}, from_data);
  f({.name = "names_kind", .optional = true}, names_kind);
  f({.name = "path", .doc = "a file, relative to the experiment file that names it", .optional = true}, path);
  f({.name = "urls", .doc = "the file may be a URL", .optional = true}, urls);
  f({.name = "names_run", .optional = true}, names_run);
  f({.name = "words", .doc = "texts that are allowed instead of a path", .optional = true}, words);
  f({.name = "length", .optional = true}, length);
  f({.name = "default", .optional = true}, default_value);
  f({.name = "variants", .doc = "for a list of tables: the allowed tables, by their type", .optional = true}, variants);
  f({.name = "component_kind", .optional = true}, component_kind);
  f({.name = "section", .optional = true}, section);
}

void Spec::fields(Fields& f) {
  f({.name = "name"}, name);
  f({.name = "doc"}, doc);
  f({.name = "options"}, options);
  f({.name = "traits", .doc = "facts for checks without tensors", .types = {Type::table}}, traits);
}

}  // namespace ddp::config
