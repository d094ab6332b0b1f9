#include "format/table_entry.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <arrow/util/thread_pool.h>

#include "base/error.h"
#include "base/limits.h"
#include "tables/columnar.h"
#include "tables/csv.h"
#include "tables/foreign_file.h"
#include "tables/jsonl.h"
#include "tables/parquet_writer.h"
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
  void read(const std::vector<format::WantedColumn>& wanted) override {
    as_errors(file_, [&] { table_->read(wanted); });
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

std::unique_ptr<format::TableFile> open(const std::filesystem::path& file, const format::TableOptions& options) {
  static const arrow::Status limited = arrow::SetCpuThreadPoolCapacity(std::clamp(usable_cores(), 1, kMostThreads));
  require(limited, file);
  if (options.format == "parquet") return open_columnar(file);
  if (options.format == "csv" || options.format == "jsonl") {
    refuse_foreign(file, options.format);
    return options.format == "csv" ? open_csv(file, options) : table_of(file, open_jsonl(file));
  }
  throw usage_error("there is no table format \"" + options.format + "\"", file.string(), "give csv, parquet or jsonl");
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
