#include <fcntl.h>
#include <cstdint>

#include <arrow/io/file.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include "base/file_descriptor.h"
#include "catch.h"
#include "errors.h"
#include "format/table.h"
#include "tables/files.h"
#include "words.h"

namespace ddp {
namespace {

using format::OutputColumn;
using format::OutputType;

FileDescriptor new_file(const std::filesystem::path& file) {
  FileDescriptor descriptor(open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  REQUIRE(descriptor);
  return descriptor;
}

const format::TableOptions kParquetFile{.format = "parquet"};

}  // namespace

TEST_CASE("A written Parquet file holds the cells, with their types and without nulls") {
  const TableFolder folder;
  const auto file = folder.folder() / "out.parquet";
  {
    const FileDescriptor out = new_file(file);
    const auto writer =
        format::open_table_writer(out.get(),
                                  {{.name = "prediction", .type = OutputType::text, .values = {"a", "b\"", ""}},
                                   {.name = "n", .type = OutputType::integer},
                                   {.name = "probability_a.b", .type = OutputType::float32},
                                   {.name = "x", .type = OutputType::float64}},
                                  "out.parquet");
    const std::vector<std::int32_t> names{0, 1, 2};
    const std::vector<std::int64_t> numbers{1, -2, INT64_MAX};
    const std::vector<float> floats{0.1f, 0.25f, 3e-40f};
    const std::vector<double> doubles{0.1, 1e300, -0.0};
    writer->write(3, {names.data(), numbers.data(), floats.data(), doubles.data()});
    writer->write(1, {names.data(), numbers.data(), floats.data(), doubles.data()});
    writer->close();
  }
  const auto bytes = arrow::io::ReadableFile::Open(file);
  REQUIRE(bytes.ok());
  auto reader = parquet::arrow::OpenFile(*bytes, arrow::default_memory_pool());
  REQUIRE(reader.ok());
  std::shared_ptr<arrow::Schema> schema;
  REQUIRE((*reader)->GetSchema(&schema).ok());
  CHECK(schema->ToString() ==
        "prediction: string not null\nn: int64 not null\nprobability_a.b: float not null\nx: double not null");
  const Rows rows = rows_of(file, kParquetFile, {{"n"}, {"x"}, {"probability_a.b"}});
  REQUIRE(rows.size() == 4);
  CHECK(rows[0] == std::vector<std::string>{"1", "0.1", "0.10000000149011612"});
  CHECK(rows[1] == std::vector<std::string>{"-2", "1e+300", "0.25"});
  CHECK(rows[3] == rows[0]);
  const Rows texts = rows_of(file, kParquetFile, {{"prediction", format::CellType::text}});
  CHECK(texts[1] == std::vector<std::string>{"b\""});
}

TEST_CASE("A Parquet file is written in row groups, and without rows it still has its columns") {
  const TableFolder folder;
  const auto groups_of = [&](int rows_at_once, int writes) {
    const auto file = folder.folder() / "out.parquet";
    {
      const FileDescriptor out = new_file(file);
      const auto writer = format::open_table_writer(out.get(), {{.name = "x"}, {.name = "y"}}, "out.parquet");
      const std::vector<float> cells(static_cast<std::size_t>(rows_at_once), 1.5f);
      for (int i = 0; i < writes; ++i) writer->write(rows_at_once, {cells.data(), cells.data()});
      writer->close();
    }
    const auto bytes = arrow::io::ReadableFile::Open(file);
    const auto meta = parquet::ParquetFileReader::Open(*bytes)->metadata();
    CHECK(meta->num_rows() == std::int64_t{rows_at_once} * writes);
    CHECK(meta->num_columns() == 2);
    return meta->num_row_groups();
  };
  CHECK(groups_of(1000, 0) == 0);
  CHECK(groups_of(1000, 30) == 1);
  CHECK(groups_of(100000, 30) == 3);  // groups of 2^20 rows
}

TEST_CASE("A Parquet file that cannot be written is an error with its name") {
  const TableFolder folder;
  const FileDescriptor closed(open((folder.write("read only", "")).c_str(), O_RDONLY | O_CLOEXEC));
  const std::string text = error_of([&] {
    const auto writer = format::open_table_writer(closed.get(), {{.name = "x"}}, "the output");
    const float cell = 1;
    writer->write(1, {&cell});
    writer->close();
  });
  CHECK(contains(text, "cannot write"));
  CHECK(contains(text, "the output"));
}

}  // namespace ddp
