#pragma once

#include <memory>
#include <optional>

#include "config/check/problems.h"
#include "config/text/node.h"

namespace ddp::config {

// Parses TOML `text` as a table, with places in `source`. Returns nothing, and adds a problem with its place, if the
// text is not TOML.
std::optional<Node> parse_toml(const std::shared_ptr<const Source>& source, std::string_view text, Problems& problems);

// Finds the first nesting that is too deep for toml++: walking or freeing such a tree overflows the stack. toml++
// limits brackets but not keys, `a.a.a.… = 1`.
struct TooDeep {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::string what = {};
};
std::optional<TooDeep> find_too_deep(std::string_view text);

}  // namespace ddp::config
