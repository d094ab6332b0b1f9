#include "tables/text_encoding.h"

#include <cstdio>

#include <arrow/util/utf8.h>

#include "base/conversion_command.h"
#include "tables/mistakes.h"

namespace ddp::tables {
namespace {

// Returns the first byte that is part of no character.
unsigned char first_bad_byte(std::string_view text) {
  std::size_t whole = 0;
  for (std::size_t size = 1; size <= text.size(); ++size) {
    if (is_utf8(text.substr(0, size))) whole = size;
  }
  return static_cast<unsigned char>(text[whole < text.size() ? whole : 0]);
}

}  // namespace

bool is_utf8(std::string_view text) {
  static const bool initialised = (arrow::util::InitializeUTF8(), true);
  return initialised && arrow::util::ValidateUTF8(reinterpret_cast<const std::uint8_t*>(text.data()),
                                                  static_cast<std::int64_t>(text.size()));
}

Error not_utf8(const std::filesystem::path& file, std::int64_t line, const std::string& holder, std::string_view text) {
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02x", first_bad_byte(text));
  return usage_error(
      holder + ": the byte " + byte + " in " + shown(text) + " is not UTF-8",
      file.string() + ":" + std::to_string(line),
      "the file may be in Latin-1; this command writes a copy in UTF-8:\n    " + conversion_command(file, "latin1"));
}

}  // namespace ddp::tables
