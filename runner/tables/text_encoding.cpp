#include "tables/text_encoding.h"

#include <cstdio>

#include <arrow/util/utf8.h>

#include "base/shell_word.h"
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

std::string conversion_command(const std::filesystem::path& file, const std::string& from) {
  const bool is_compressed = file.extension() == ".gz";
  const std::filesystem::path plain = is_compressed ? file.parent_path() / file.stem() : file;
  const std::string ending = plain.extension().string() + (is_compressed ? ".gz" : "");
  const std::string copy = path_word(file.parent_path() / (plain.stem().string() + "-utf8" + ending));
  const std::string convert = "iconv -f " + from + " -t utf-8";
  if (is_compressed) return "zcat " + path_word(file) + " | " + convert + " | gzip > " + copy;
  return convert + " " + path_word(file) + " > " + copy;
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
