#pragma once

#include <memory>
#include <optional>

#include "config/check/problems.h"
#include "config/text/node.h"

namespace ddp::config {

// The TOML `text`, whose places are told as of `source`, as a table; nothing, and a problem with its place,
// where it is not TOML.
std::optional<Node> parse_toml(const std::shared_ptr<const Source>& source, std::string_view text, Problems& problems);

// What toml++ cannot be trusted with: a tree so deep that walking or freeing it overflows the stack. It
// bounds brackets but not keys, `a.a.a.… = 1`. Where the first nesting that is too deep is, and what.
struct TooDeep {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::string what = {};
};
std::optional<TooDeep> find_too_deep(std::string_view text);

}  // namespace ddp::config
