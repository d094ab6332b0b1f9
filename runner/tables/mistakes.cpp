#include "tables/mistakes.h"

#include "config/text/source.h"

namespace ddp::tables {
namespace {

constexpr std::size_t kShownBytes = 40;

}  // namespace

std::string shortened(std::string_view text) {
  if (text.size() <= kShownBytes) return config::printable(text);
  std::size_t size = kShownBytes;
  // Does not cut inside of a multi-byte character.
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return config::printable(text.substr(0, size)) + "…";
}

std::string shown(std::string_view text) { return "\"" + shortened(text) + "\""; }

std::string not_a_number(std::string_view cell) { return shown(cell) + " is not a number"; }

void Mistakes::add(std::int64_t line, const std::string& what) {
  if (full()) return;
  if (count_++ > 0) text_ += "\n";
  text_ += file_.string() + ":" + unit_ + std::to_string(line) + ": " + what;
}

void Mistakes::add(std::int64_t line, const format::WantedColumn& column, const std::string& what) {
  if (text_column_.empty() && column.type == format::CellType::number) text_column_ = column.name;
  add(line, "column " + shown(column.name) + ": " + what);
}

Error Mistakes::error() const {
  std::string remedy = full() ? "these are the first " + std::to_string(kMost) + " mistakes; " : "";
  if (!text_column_.empty()) {
    remedy += "correct the cells; or, if a column such as " + shown(text_column_) +
              " contains text, name it in dataset.categories or leave it out with dataset.drop";
  } else {
    remedy += "correct the file";
  }
  return usage_error(text_, "", remedy);
}

}  // namespace ddp::tables
