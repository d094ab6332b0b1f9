#include "base/conversion_command.h"

#include "base/own_command.h"

namespace ddp {

std::string conversion_command(const std::filesystem::path& file, const std::string& from) {
  const bool is_compressed = file.extension() == ".gz";
  const std::filesystem::path plain = is_compressed ? file.parent_path() / file.stem() : file;
  const std::string ending = plain.extension().string() + (is_compressed ? ".gz" : "");
  const std::string copy = path_word(file.parent_path() / (plain.stem().string() + "-utf8" + ending));
  const std::string convert = "iconv -f " + from + " -t utf-8";
  if (is_compressed) return "zcat " + path_word(file) + " | " + convert + " | gzip > " + copy;
  return convert + " " + path_word(file) + " > " + copy;
}

}  // namespace ddp
