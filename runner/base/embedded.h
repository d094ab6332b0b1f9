#pragma once

#include <span>
#include <string_view>

namespace ddp {

// A file that the build embeds into the program (cmake/Embed.cmake).
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

}  // namespace ddp
