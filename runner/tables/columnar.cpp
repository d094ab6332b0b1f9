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

}  // namespace

std::unique_ptr<format::TableFile> open_columnar(const std::filesystem::path& file) {
  std::shared_ptr<arrow::io::ReadableFile> bytes = open_file(file);
  const auto head = require(bytes->ReadAt(0, static_cast<std::int64_t>(kFeather.size())), file);
  const std::string_view magic(*head);
  if (magic.starts_with(kParquet)) return table_of(file, open_parquet(file, std::move(bytes)));
  if (magic.starts_with(kFeather)) return table_of(file, open_feather(file, std::move(bytes)));
  if (magic.starts_with(kFeather1)) {
    throw usage_error("is a Feather file of version 1", file.string(), "write it again as version 2, or as Parquet");
  }
  throw usage_error(magic.empty() ? "is empty" : "is neither a Parquet nor a Feather file", file.string());
}

}  // namespace ddp::tables
