#include "format/table.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/util/thread_pool.h>

#include "base/error.h"
#include "base/limits.h"
#include "tables/formats.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

// Each thread needs memory for a block in progress, and a single thread reads the bytes.
constexpr int kMostThreads = 16;

// Runs `call` and reports exceptions of Arrow or the standard library, which a damaged file may cause, as errors of the
// file.
template <class Call>
auto as_errors(const std::filesystem::path& file, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw refusal(arrow::Status::OutOfMemory(""), file);
  } catch (const std::exception& error) {
    throw refusal(arrow::Status::Invalid(error.what()), file);
  }
}

class CheckedTable : public format::TableFile {
 public:
  CheckedTable(const std::filesystem::path& file, std::unique_ptr<format::TableFile> table)
      : file_(file), table_(std::move(table)) {}

  const std::vector<format::ColumnInfo>& columns() const override { return table_->columns(); }
  std::vector<std::int64_t> blocks() override {
    return as_errors(file_, [&] { return table_->blocks(); });
  }
  void read(const std::vector<format::WantedColumn>& wanted, std::optional<std::int64_t> block) override {
    as_errors(file_, [&] { table_->read(wanted, block); });
  }
  bool next(format::TableChunk& chunk) override {
    return as_errors(file_, [&] { return table_->next(chunk); });
  }
  std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& rows) const override {
    return as_errors(file_, [&] { return table_->lines_of(rows); });
  }

 private:
  const std::filesystem::path file_;
  const std::unique_ptr<format::TableFile> table_;
};

constexpr std::string_view kParquet = "PAR1";
constexpr std::string_view kFeather = "ARROW1";

// Files that are often given as text: their first bytes, and what to do with them.
struct Foreign {
  std::string_view magic;
  const char* is;
  const char* remedy;
};
constexpr Foreign kForeign[] = {{kParquet, "a Parquet file", "give dataset.name = \"parquet\""},
                                {kFeather, "a Feather file", "give dataset.name = \"parquet\""},
                                {"PK\x03\x04", "an Excel workbook or a zip archive", "save its sheet as CSV in UTF-8"},
                                {"\xff\xfe", "text in UTF-16", "save it in UTF-8"},
                                {"\xfe\xff", "text in UTF-16", "save it in UTF-8"}};

std::unique_ptr<format::TableFile> open_columnar(const std::filesystem::path& file, std::string_view head,
                                                 std::shared_ptr<arrow::io::RandomAccessFile> bytes,
                                                 const format::TableOptions& options) {
  if (head.starts_with(kParquet)) return table_of(file, open_parquet(file, std::move(bytes)), options);
  if (head.starts_with(kFeather)) return table_of(file, open_feather(file, std::move(bytes)), options);
  throw usage_error(head.empty() ? "is empty" : "is neither a Parquet nor a Feather file", file.string(),
                    "dataset.name = \"csv\" reads CSV, \"jsonl\" JSON lines");
}

std::unique_ptr<format::TableFile> open(const std::filesystem::path& file, const format::TableOptions& options) {
  static const arrow::Status limited = arrow::SetCpuThreadPoolCapacity(std::clamp(usable_cores(), 1, kMostThreads));
  require(limited, file);
  std::shared_ptr<arrow::io::RandomAccessFile> bytes = open_file(file, options);
  const auto first = require(bytes->ReadAt(0, static_cast<std::int64_t>(kFeather.size())), file);
  const std::string_view head(*first);
  if (options.format == "parquet") return open_columnar(file, head, std::move(bytes), options);
  if (options.format != "csv" && options.format != "jsonl") {
    throw usage_error("there is no table format \"" + options.format + "\"", file.string(),
                      "give csv, parquet or jsonl");
  }
  for (const Foreign& foreign : kForeign) {
    if (!head.starts_with(foreign.magic)) continue;
    throw usage_error(std::string("is ") + foreign.is + ", not " + (options.format == "csv" ? "CSV" : "JSON lines"),
                      file.string(), foreign.remedy);
  }
  return options.format == "csv" ? open_csv(file, options) : table_of(file, open_jsonl(file, options), options);
}

}  // namespace
}  // namespace ddp::tables

ddp::format::TableFile* ddp_open_table(const std::filesystem::path* file, const ddp::format::TableOptions* options) {
  using ddp::tables::CheckedTable;
  return ddp::tables::as_errors(
      *file, [&] { return std::make_unique<CheckedTable>(*file, ddp::tables::open(*file, *options)).release(); });
}

ddp::format::TableWriter* ddp_open_table_writer(int descriptor, const std::vector<ddp::format::OutputColumn>* columns,
                                                const std::string* name) {
  return ddp::tables::open_parquet_writer(descriptor, *columns, *name).release();
}
