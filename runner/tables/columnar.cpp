#include "tables/columnar.h"

#include <string>
#include <string_view>

#include <arrow/buffer.h>

#include "base/error.h"
#include "tables/feather.h"
#include "tables/parquet.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::string_view kParquet = "PAR1";
constexpr std::string_view kFeather = "ARROW1";
constexpr std::string_view kFeather1 = "FEA1";

std::shared_ptr<arrow::Buffer> head_of(arrow::io::ReadableFile& bytes, const std::filesystem::path& file) {
  return require(bytes.ReadAt(0, static_cast<std::int64_t>(kFeather.size())), file);
}

}  // namespace

bool is_columnar(const std::filesystem::path& file) {
  const auto head = head_of(*open_file(file), file);
  const std::string_view magic(*head);
  return magic.starts_with(kParquet) || magic.starts_with(kFeather) || magic.starts_with(kFeather1);
}

std::unique_ptr<format::TableFile> open_columnar(const std::filesystem::path& file) {
  std::shared_ptr<arrow::io::ReadableFile> bytes = open_file(file);
  const auto head = head_of(*bytes, file);
  const std::string_view magic(*head);
  if (magic.starts_with(kParquet)) return table_of(file, open_parquet(file, std::move(bytes)));
  if (magic.starts_with(kFeather)) return table_of(file, open_feather(file, std::move(bytes)));
  if (magic.starts_with(kFeather1)) {
    throw usage_error("is a Feather file of version 1", file.string(), "write it again as version 2, or as Parquet");
  }
  throw usage_error(magic.empty() ? "is empty" : "is neither a Parquet nor a Feather file", file.string(),
                    "dataset.name = \"csv\" reads CSV, \"jsonl\" JSON lines");
}

}  // namespace ddp::tables
