#include "config/text/toml_reader.h"

// Its parser asserts what a malformed file, such as "[!]", makes false, and then reports the mistake.
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include "base/own_command.h"
#include "config/text/to_toml.h"
#include "config/text/toml_advice.h"

namespace ddp::config {
namespace {

// toml++'s switch for TOML 1.1 also admits drafts that TOML dropped: other characters in keys without quotes, and
// hexadecimal numbers with a fraction.
struct Draft {
  SourceRange place;
  const char* what;
};

class Converter {
 public:
  explicit Converter(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  Node convert(const toml::node& from) const {
    Node node{.place = place(from.source())};
    node.key = node.place;
    if (const toml::table* table = from.as_table()) {
      for (const auto& [key, value] : *table) {
        require_quotes(key);
        Node entry = convert(value);
        entry.key = place(key.source());
        node.entries.emplace(std::string(key.str()), std::move(entry));
      }
    } else if (const toml::array* list = from.as_array()) {
      node.kind = Kind::list;
      for (const toml::node& item : *list) node.items.push_back(convert(item));
    } else {
      convert_scalar(from, node);
    }
    return node;
  }

  SourceRange place(const toml::source_region& region) const {
    SourceRange place{.source = source_, .line = region.begin.line, .column = region.begin.column};
    const bool one_line = region.end.line == region.begin.line;
    if (one_line && region.end.column > region.begin.column) place.width = region.end.column - region.begin.column;
    return place;
  }

 private:
  void require_quotes(const toml::key& key) const {
    if (is_bare_key(key.str())) return;
    const SourceRange at = place(key.source());
    const std::string_view written = text_at(at);
    if (written.starts_with('"') || written.starts_with('\'')) return;
    throw Draft{at,
                "not TOML: a key consists of the letters A to Z and a to z, digits, \"_\" and \"-\", or has quotes"};
  }

  static void refuse_hexadecimal(const SourceRange& at) {
    if (text_at(at).find_first_of("xX") == std::string_view::npos) return;
    throw Draft{at, "not TOML: a hexadecimal number is a whole number"};
  }

  static void convert_scalar(const toml::node& from, Node& node) {
    if (const auto* boolean = from.as_boolean()) {
      node.kind = Kind::boolean;
      node.scalar = boolean->get();
    } else if (const auto* integer = from.as_integer()) {
      node.kind = Kind::integer;
      node.scalar = integer->get();
    } else if (const auto* number = from.as_floating_point()) {
      node.kind = Kind::number;
      node.scalar = number->get();
      refuse_hexadecimal(node.place);
    } else if (const auto* text = from.as_string()) {
      node.kind = Kind::text;
      node.scalar = text->get();
    } else {
      node.kind = Kind::date;
    }
  }

  std::shared_ptr<const Source> source_;
};

// Does the name end like a file of settings in another format?
bool is_of_other_format(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

}  // namespace

std::optional<Node> parse_toml(const std::shared_ptr<const Source>& source, std::string_view text, Problems& problems) {
  if (const auto too_deep = find_too_deep(text)) {
    problems.add({.source = source, .line = too_deep->line, .column = too_deep->column}, too_deep->what);
    return std::nullopt;
  }
  const Converter converter(source);
  try {
    return converter.convert(toml::parse(text));
  } catch (const Draft& draft) {
    problems.add(draft.place, draft.what);
    return std::nullopt;
  } catch (const toml::parse_error& error) {
    const SourceRange place = converter.place(error.source());
    const TomlAdvice advice = toml_advice(*source, place.line, place.column, error.description());
    const bool is_other = is_of_other_format(source->label());
    problems.add(place, advice.what,
                 is_other ? "an experiment file is TOML; `" + own_command("new model my_model") + "` writes an example"
                          : advice.remedy);
    return std::nullopt;
  }
}

}  // namespace ddp::config
