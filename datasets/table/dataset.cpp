#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/sum.h>

#include "base/error.h"
#include "datasets/files.h"
#include "datasets/in_memory.h"
#include "datasets/table/encoder.h"

namespace ddp::datasets {
namespace {

// The name of the tensor with the missing cells of each column, among the tensors that a table holds.
constexpr const char* kMissing = "missing";

at::Tensor groups_of(const std::vector<std::filesystem::path>& files, const format::TableOptions& how,
                     const std::string& column) {
  const Table table = read_table(files, how, {{.name = column, .type = format::CellType::text}});
  return numbers_of(table, 0, distinct_values(table, 0, at::arange(table.rows, at::kLong)));
}

}  // namespace

at::Tensor order_of(const std::vector<std::filesystem::path>& files, const format::TableOptions& how,
                    const std::string& column, const TableSection& options) {
  const auto& dates = options.dates;
  const bool is_date = std::find(dates.begin(), dates.end(), column) != dates.end();
  const std::string remedy = "give each row a value, or another column";
  const Table table = read_table(files, how,
                                 {{.name = column,
                                   .type = is_date ? format::CellType::date : format::CellType::number,
                                   .if_text = "name a column of numbers, or add it to dataset.dates",
                                   .if_missing = remedy}});
  at::Tensor numbers = at::empty({table.rows}, at::kDouble);
  auto* next = numbers.mutable_data_ptr<double>();
  Mistakes mistakes;
  for (const Table::Piece& piece : table.pieces) {
    const format::ColumnCells& cells = piece.chunk.columns.front();
    for (std::int64_t r = 0; r < piece.chunk.rows; ++r) {
      const bool is_missing = cells.is_missing(r);
      if (is_missing)
        mistakes.add(piece.first_row + r, column, {.one = "is missing", .many = "are missing", .remedy = remedy});
      *next++ = is_missing ? 0 : cells.numbers[r];
    }
  }
  mistakes.require_none(table);
  return numbers;
}

namespace {

// The names that the data give to their rows. The texts are in tensors, which processes share.
class RowIds {
 public:
  RowIds() = default;
  // Takes them from what a table holds.
  explicit RowIds(const NamedTensors& held) : text_(tensor_named(kText, held)), ends_(tensor_named(kEnds, held)) {}
  // Takes the cells of the last column.
  explicit RowIds(const Table& table) : ends_(at::empty(table.rows, at::kLong)) {
    std::string text;
    auto* end = ends_.mutable_data_ptr<std::int64_t>();
    for (const Table::Piece& piece : table.pieces) {
      const format::ColumnCells& cells = piece.chunk.columns.back();
      for (std::int64_t r = 0; r < piece.chunk.rows; ++r) {
        const bool has_none = cells.is_missing(r) || cells.text_of(r).empty();
        text += has_none ? "(missing)" : cells.text_of(r);
        *end++ = std::ssize(text);
      }
    }
    text_ = at::empty(std::ssize(text), at::kByte);
    std::copy(text.begin(), text.end(), text_.mutable_data_ptr<std::uint8_t>());
  }

  std::string of(std::int64_t row) const {
    if (!ends_.defined()) return "";
    const auto* ends = ends_.const_data_ptr<std::int64_t>();
    const std::int64_t begin = row == 0 ? 0 : ends[row - 1];
    const auto* text = reinterpret_cast<const char*>(text_.const_data_ptr<std::uint8_t>());
    return {text + begin, text + ends[row]};
  }
  void add_to(NamedTensors& held) const {
    if (!ends_.defined()) return;
    held.emplace_back(kText, text_);
    held.emplace_back(kEnds, ends_);
  }

 private:
  static constexpr const char* kText = "ids";
  static constexpr const char* kEnds = "ids.ends";
  at::Tensor text_;  // uint8: all texts, one after the other
  at::Tensor ends_;  // int64 [rows]; undefined: the rows have no ids
};

// A table in memory: cells before the fit, tensors after it.
class TableDataset : public MapDataset {
 public:
  TableDataset(TableSection options, format::TableOptions how, const Context& context)
      : options_(std::move(options)),
        how_(std::move(how)),
        files_(files_of(options_.path, "dataset.path", format::table_endings())) {
    OpenTables opened;
    const std::vector<format::ColumnInfo> columns = columns_of(files_, how_, opened);
    encoder_ = encoder_for(options_, columns, context, files_.front().string());
    read(context.role == Role::prediction ? "" : id_column(encoder_, columns), opened);
    rows_ = table_.rows;
    if (rows_ == 0) throw usage_error("has no rows", files_.front().string());
    is_fitted_ = !context.preprocessing.is_null();
    if (context.role == Role::prediction) encode_all();
  }

  std::int64_t size() const override { return rows_; }
  bool in_memory() const override { return true; }
  Batch gather(const at::Tensor& indices, std::int64_t epoch) const override { return rows()->gather(indices, epoch); }
  NamedTensors held() const override {
    NamedTensors all = rows()->held();
    all.emplace_back(kMissing, missing_);
    ids_.add_to(all);
    return all;
  }
  config::Value preprocessing() const override { return rows() == nullptr ? nullptr : config::written(encoder_); }

  void fit(const at::Tensor& samples) override {
    if (!is_fitted_) {
      datasets::fit(encoder_, table_, samples, options_);
      warnings_ = warnings_of_fit(encoder_, table_, samples.numel());
      warn_of_groups(
          encoder_, table_, [this](const format::WantedColumn& column) { return read_table(files_, how_, {column}); },
          warnings_);
    }
    encode_all();
  }

  Content content(std::int64_t sample) const override {
    const std::size_t features = encoder_.features.size();
    return {.input = cells_of_row(table_, sample, 0, features),
            .target = cells_of_row(table_, sample, features, features + encoder_.targets.size())};
  }

  std::string sample_id(std::int64_t sample) const override { return ids_.of(sample); }

  at::Tensor usable(const at::Tensor& samples) const override {
    return encoder_.missing == "drop" ? samples.masked_select(usable_.index_select(0, samples)) : samples;
  }

  at::Tensor weights() const override { return tensors_ ? tensors_->weights() : at::Tensor(); }

  at::Tensor classes() const override {
    if (encoder_.kind != TargetKind::classes) return {};
    if (tensors_) return tensors_->classes();
    if (values_.size() == 0) values_ = distinct_values(table_, encoder_.features.size(), at::arange(rows_, at::kLong));
    return numbers_of(table_, encoder_.features.size(), values_);
  }

  std::string class_name(std::int64_t number) const override {
    const ValueNames& known = tensors_ ? encoder_.classes : values_;
    return number < 0 ? "(missing)" : "\"" + known.names().at(static_cast<std::size_t>(number)) + "\"";
  }

  at::Tensor groups(const std::string& column) const override { return groups_of(files_, how_, column); }
  at::Tensor numbers(const std::string& column) const override { return order_of(files_, how_, column, options_); }

  config::Value facts() const override { return facts_of(encoder_); }

  config::DatasetDescription describe() const override { return describe_table(encoder_, rows_, missing_); }

  std::vector<std::string> warnings() const override {
    std::vector<std::string> all = warnings_;
    const std::string file = files_.front().string() + (files_.size() > 1 ? " and the other files" : "");
    for (const std::string& line : in_words(unknown_names_)) all.push_back(file + ": " + line);
    if (left_out_rows_ > 0) {
      all.push_back(file + ": missing = \"drop\" leaves out " + std::to_string(left_out_rows_) + " of " +
                    std::to_string(rows_) + " rows");
    }
    return all;
  }

 private:
  // Reads the cells, and the ids of the rows from this column; "": they have none.
  void read(const std::string& ids, const OpenTables& opened) {
    std::vector<format::WantedColumn> wanted = encoder_.wanted(/*with_targets=*/true);
    if (ids.empty()) {
      table_ = read_table(files_, how_, wanted, opened);
      return;
    }
    wanted.push_back({.name = ids, .type = format::CellType::text});
    try {
      table_ = read_table(files_, how_, wanted, opened);
      ids_ = RowIds(table_);
      for (Table::Piece& piece : table_.pieces) piece.chunk.columns.pop_back();
    } catch (const Error&) {
      // Ids that are no text are no mistake: the model does not see them. Other mistakes are found again.
      wanted.pop_back();
      table_ = read_table(files_, how_, wanted);
    }
  }

  void encode_all() {
    Encoded encoded = encode(encoder_, table_, /*with_targets=*/true);
    usable_ = encoded.usable;
    left_out_rows_ = rows_ - usable_.sum().item<std::int64_t>();
    unknown_names_ = std::move(encoded.unknown_names);
    missing_ = missing_cells(table_, encoder_.wanted(/*with_targets=*/true).size());
    tensors_.emplace(inputs_of(encoded), NamedTensors{{"target", encoded.targets}}, encoded.weights);
    table_.pieces.clear();  // its memory
  }

  const InMemory* rows() const { return tensors_ ? &*tensors_ : nullptr; }

  const TableSection options_;
  const format::TableOptions how_;
  const std::vector<std::filesystem::path> files_;
  Encoder encoder_;
  Table table_;
  RowIds ids_;
  std::int64_t rows_ = 0;
  bool is_fitted_ = false;     // the context has the preprocessing
  mutable ValueNames values_;  // values of the target, for a stratified split
  std::optional<InMemory> tensors_;
  at::Tensor usable_;
  at::Tensor missing_;              // int64 [columns]
  std::int64_t left_out_rows_ = 0;  // by missing = "drop"
  std::vector<UnknownNames> unknown_names_;
  std::vector<std::string> warnings_;  // of the fit
};

// The rows of a table that another process read and encoded.
class HeldTable final : public InMemory {
 public:
  HeldTable(TableSection options, format::TableOptions how, const Context& context)
      : InMemory(context.held),
        options_(std::move(options)),
        how_(std::move(how)),
        fitted_(context.preprocessing),
        missing_(tensor_named(kMissing, context.held)),
        ids_(context.held) {}

  std::string sample_id(std::int64_t sample) const override { return ids_.of(sample); }

  at::Tensor groups(const std::string& column) const override { return groups_of(files(), how_, column); }
  at::Tensor numbers(const std::string& column) const override { return order_of(files(), how_, column, options_); }

  config::DatasetDescription describe() const override {
    return describe_table(encoder_from_json(fitted_), size(), missing_);
  }

  config::Value preview(const at::Tensor& training, const Batch&) const override {
    Encoder encoder = encoder_from_json(fitted_);
    encoder.given_classes = given_classes(options_);
    return preview_table(encoder, files(), how_, *this, training);
  }

 private:
  std::vector<std::filesystem::path> files() const {
    return files_of(options_.path, "dataset.path", format::table_endings());
  }

  const TableSection options_;
  const format::TableOptions how_;
  const config::Value fitted_;
  const at::Tensor missing_;
  const RowIds ids_;
};

template <class Section>
std::unique_ptr<Dataset> make_table(const Section& section, format::TableOptions how, const Context& context) {
  if (context.window > 0 && context.role != Role::prediction) {
    return open_table_stream(section, std::move(how), context);
  }
  if (!context.held.empty()) return std::make_unique<HeldTable>(section, std::move(how), context);
  return std::make_unique<TableDataset>(section, std::move(how), context);
}

const config::Value kTableTraits = {{"held", true}, {"library", "tables"}, {"streams", true}};

const bool csv_registered = registry().add<CsvSection>(
    "csv", "a table in .csv or .tsv files, also .gz and .zst: columns of features and of targets",
    [](const CsvSection& o, const Context& c) { return make_table(o, csv_options(o), c); }, kTableTraits);

const bool parquet_registered = registry().add<TableSection>(
    "parquet", "a table in .parquet or .feather files",
    [](const TableSection& o, const Context& c) { return make_table(o, options_of(o, "parquet"), c); }, kTableTraits);

const bool jsonl_registered = registry().add<TableSection>(
    "jsonl", "a table in .jsonl files: one object per line",
    [](const TableSection& o, const Context& c) { return make_table(o, options_of(o, "jsonl"), c); }, kTableTraits);

}  // namespace
}  // namespace ddp::datasets
