#include "tables/foreign_file.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <arrow/buffer.h>

#include "base/conversion_command.h"
#include "base/error.h"
#include "tables/columnar.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::int64_t kHeadBytes = 16;

// A format of other files: their first bytes, and the way to a text.
struct Foreign {
  std::string_view magic;
  const char* is;
  const char* remedy;
};

constexpr const char* kSaveSheet = "save its sheet as CSV in UTF-8";

constexpr Foreign kForeign[] = {
    {"PK\x03\x04", "a zip archive, such as an Excel workbook (.xlsx)",
     "of a workbook, save the sheet as CSV in UTF-8; unpack another archive with unzip"},
    {"\xd0\xcf\x11\xe0", "an Excel workbook (.xls)", kSaveSheet},
    {"BZh91AY&SY", "compressed by bzip2", "unpack it with bunzip2; files of gzip are read as they are"},
    {"\xfd"
     "7zXZ",
     "compressed by xz", "unpack it with unxz; files of gzip are read as they are"},
    {"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it with unzstd; files of gzip are read as they are"},
    {"%PDF-", "a PDF document", "extract its table as CSV in UTF-8"},
    {"\x93NUMPY", "an array of NumPy", "the datasets npy and npz read arrays"},
    {"\x89PNG", "a PNG image", "the dataset image_folder reads images"},
    {"\xff\xd8\xff", "a JPEG image", "the dataset image_folder reads images"},
    {"SQLite format 3", "an SQLite database", "export its table as CSV: sqlite3 -header -csv"},
    {"<!doctype", "an HTML page", "look at it with a browser: was the download refused?"},
    {"<html", "an HTML page", "look at it with a browser: was the download refused?"},
};

std::string lower(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) { return std::tolower(c); });
  return low;
}

// Returns iconv's name of the UTF-16 in which the text begins; "": it begins in another encoding. Without a byte order
// mark, every other byte of a text in Latin letters is zero.
std::string utf16_of(std::string_view head) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) return "utf-16";
  if (head.size() < 4) return "";
  if (head[0] != 0 && head[1] == 0 && head[2] != 0 && head[3] == 0) return "utf-16le";
  return head[0] == 0 && head[1] != 0 && head[2] == 0 && head[3] != 0 ? "utf-16be" : "";
}

}  // namespace

void refuse_foreign(const std::filesystem::path& file, const std::string& format) {
  const std::string expected = format == "csv" ? "CSV" : "JSON lines";
  if (is_columnar(file)) {
    throw usage_error("is a Parquet or Feather file, not " + expected, file.string(),
                      "give dataset.name = \"parquet\"; as a setting, the whole table with all its options: --set "
                      "'dataset={name=\"parquet\", "
                      "path=\"…\", target=\"…\"}'");
  }
  const auto bytes = require(open_file(file)->ReadAt(0, kHeadBytes), file);
  const std::string_view head(*bytes);
  const std::string low = lower(head);
  for (const Foreign& foreign : kForeign) {
    if (!head.starts_with(foreign.magic) && !low.starts_with(foreign.magic)) continue;
    throw usage_error(std::string("is ") + foreign.is + ", not " + expected, file.string(), foreign.remedy);
  }
  if (const std::string utf16 = utf16_of(head); !utf16.empty()) {
    throw usage_error("is text in UTF-16, not UTF-8", file.string(),
                      "this command writes a copy in UTF-8:\n    " + conversion_command(file, utf16));
  }
}

}  // namespace ddp::tables
