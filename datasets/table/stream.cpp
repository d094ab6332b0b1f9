#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/masked_select.h>

#include "base/error.h"
#include "base/recent.h"
#include "datasets/files.h"
#include "datasets/table/encoder.h"

namespace ddp::datasets {
namespace {

namespace fs = std::filesystem;

// The rows of a part of a file that can be read by itself.
struct Block {
  std::size_t file = 0;
  std::int64_t number = 0;     // in the file
  std::int64_t first_row = 0;  // in the file
};

// Open files. The metadata of one with many blocks take longer to read than a block.
class OpenFiles {
 public:
  // Calls `use` with an open file, which no other thread uses meanwhile.
  template <class Use>
  void with(std::size_t number, const fs::path& path, const format::TableOptions& how, const Use& use) {
    std::unique_ptr<format::TableFile> file;
    {
      const std::lock_guard lock(mutex_);
      const auto idle = idle_.find(number);
      if (idle != idle_.end()) file = std::move(idle_.extract(idle).mapped());
    }
    if (!file) file = format::open_table(path, how);
    use(*file);
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) idle_.emplace(number, std::move(file));
  }

 private:
  static constexpr std::size_t kMostIdle = 8;  // each has its metadata
  std::mutex mutex_;                           // guards idle_
  std::multimap<std::size_t, std::unique_ptr<format::TableFile>> idle_;
};

// Copies a row of a tensor [rows, …] to row `to` of another one of the same shape.
void copy_row(const at::Tensor& from, std::int64_t row, at::Tensor& to_tensor, std::int64_t to) {
  const std::size_t bytes = from.nbytes() / static_cast<std::size_t>(from.size(0));
  std::memcpy(static_cast<char*>(to_tensor.mutable_data_ptr()) + static_cast<std::size_t>(to) * bytes,
              static_cast<const char*>(from.const_data_ptr()) + static_cast<std::size_t>(row) * bytes, bytes);
}

at::Tensor with_rows(const at::Tensor& like, std::int64_t rows) {
  std::vector<std::int64_t> shape = like.sizes().vec();
  shape.front() = rows;
  return at::empty(shape, like.options());
}

// Each file must stay what it was when it was first opened: its blocks are known.
format::TableOptions opened_by(format::TableOptions how, const Context& context) {
  struct Known {
    std::mutex mutex;
    std::map<std::string, std::string> identities;
  };
  how.open = [open = context.open, known = std::make_shared<Known>()](const fs::path& path) {
    std::shared_ptr<const format::Bytes> bytes = open(path);
    const std::lock_guard lock(known->mutex);
    const auto& [file, is_new] = known->identities.try_emplace(path.string(), bytes->identity());
    if (!is_new && file->second != bytes->identity()) throw usage_error("has changed while it was read", path.string());
    return bytes;
  };
  return how;
}

Error other_rows(const fs::path& file) {
  return usage_error("has other rows than its metadata say", file.string(), "was it changed while it was read?");
}

class StreamedTable final : public MapDataset {
 public:
  StreamedTable(const TableSection& options, format::TableOptions how, const Context& context)
      : options_(options),
        how_(opened_by(std::move(how), context)),
        files_(files_of(options_.path, "dataset.path", format::table_endings())),
        is_fitted_(!context.preprocessing.is_null()),
        recent_(static_cast<std::size_t>(context.window) + 1) {
    const std::vector<format::ColumnInfo> columns = find_blocks();
    encoder_ = encoder_for(options_, columns, context, files_.front().string());
    table_ = cells_of(encoder_.wanted(/*with_targets=*/true));
  }

  std::int64_t size() const override { return begins_.back(); }
  std::vector<std::int64_t> block_begins() const override { return begins_; }
  std::int64_t block_bytes() const override {
    std::int64_t rows = 0;
    for (std::size_t i = 0; i + 1 < begins_.size(); ++i) rows = std::max(rows, begins_[i + 1] - begins_[i]);
    const auto targets = static_cast<std::int64_t>(encoder_.targets.size()) + (encoder_.weights.empty() ? 0 : 1);
    return rows * (4 * (encoder_.width() + targets) + 8 * encoder_.index_width());
  }
  config::Value preprocessing() const override { return is_fitted_ ? config::written(encoder_) : config::Value(); }

  void fit(const at::Tensor& samples) override {
    if (!is_fitted_) {
      datasets::fit(encoder_, table_, samples, options_);
      warnings_ = warnings_of_fit(encoder_, table_, samples.numel());
      warn_of_groups(
          encoder_, table_, [this](const format::WantedColumn& column) { return cells_of({column}); }, warnings_);
      is_fitted_ = true;
    }
    if (encoder_.missing != "drop") return;
    usable_.assign(static_cast<std::size_t>(size()), true);
    leave_out_missing(table_, encoder_.features, usable_);
  }

  at::Tensor usable(const at::Tensor& samples) const override {
    if (usable_.empty()) return samples;
    at::Tensor mask = at::empty(samples.sizes(), at::kBool);
    for (std::int64_t i = 0; i < samples.numel(); ++i) {
      mask.mutable_data_ptr<bool>()[i] = usable_[static_cast<std::size_t>(samples.const_data_ptr<std::int64_t>()[i])];
    }
    return samples.masked_select(mask);
  }

  Batch gather(const at::Tensor& indices, std::int64_t) const override {
    std::map<std::int64_t, std::shared_ptr<const Batch>> blocks;
    Batch batch;
    const std::int64_t rows = indices.numel();
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t sample = indices.const_data_ptr<std::int64_t>()[i];
      const std::int64_t number = block_of(sample);
      std::shared_ptr<const Batch>& block = blocks[number];
      if (!block) block = recent_.get(number, [this](std::int64_t one) { return encoded(one); });
      if (i == 0) {
        for (const auto& [name, tensor] : block->inputs) batch.inputs.emplace_back(name, with_rows(tensor, rows));
        for (const auto& [name, tensor] : block->targets) batch.targets.emplace_back(name, with_rows(tensor, rows));
        if (block->weights.defined()) batch.weights = with_rows(block->weights, rows);
      }
      const std::int64_t row = sample - begins_[static_cast<std::size_t>(number)];
      for (std::size_t k = 0; k < batch.inputs.size(); ++k)
        copy_row(block->inputs[k].second, row, batch.inputs[k].second, i);
      copy_row(block->targets.front().second, row, batch.targets.front().second, i);
      if (batch.weights.defined()) copy_row(block->weights, row, batch.weights, i);
    }
    return batch;
  }

  Content content(std::int64_t sample) const override {
    const std::int64_t block = block_of(sample);
    if (!looked_at_ || looked_at_->first != block) looked_at_.emplace(block, read_block(block));
    const std::size_t features = encoder_.features.size();
    const std::int64_t row = sample - begins_[static_cast<std::size_t>(block)];
    return {.input = cells_of_row(looked_at_->second, row, 0, features),
            .target = cells_of_row(looked_at_->second, row, features, features + encoder_.targets.size())};
  }

  at::Tensor classes() const override {
    if (encoder_.kind != TargetKind::classes) return {};
    const std::size_t target = encoder_.features.size();
    if (is_fitted_) return numbers_of(table_, target, encoder_.classes);
    if (values_.size() == 0) values_ = distinct_values(table_, target, at::arange(size(), at::kLong));
    return numbers_of(table_, target, values_);
  }

  // The fit has read the classes of all rows.
  bool check_targets(const std::function<void(const at::Tensor& targets)>& check) const override {
    if (encoder_.kind != TargetKind::classes || !is_fitted_) return false;
    check(at::arange(encoder_.classes.size(), at::kLong));
    return true;
  }

  std::string class_name(std::int64_t number) const override {
    const ValueNames& known = is_fitted_ ? encoder_.classes : values_;
    return number < 0 ? "(missing)" : "\"" + known.names().at(static_cast<std::size_t>(number)) + "\"";
  }

  at::Tensor groups(const std::string& column) const override {
    const Table cells = cells_of({{.name = column, .type = format::CellType::text}});
    return numbers_of(cells, 0, distinct_values(cells, 0, at::arange(size(), at::kLong)));
  }

  at::Tensor numbers(const std::string& column) const override { return order_of(files_, how_, column, options_); }

  config::Value facts() const override { return facts_of(encoder_); }

  config::DatasetDescription describe() const override {
    return describe_table(encoder_, size(), missing_cells(table_, encoder_.wanted(/*with_targets=*/true).size()));
  }

  std::vector<std::string> warnings() const override { return warnings_; }

 private:
  // Lists the blocks of all files; returns the columns of the first one.
  std::vector<format::ColumnInfo> find_blocks() {
    OpenTables opened;
    std::vector<format::ColumnInfo> columns = columns_of(files_, how_, opened, /*most_open=*/1);
    std::int64_t rows = 0;
    for (std::size_t file = 0; file < files_.size(); ++file) {
      const auto own = file < opened.size() ? nullptr : format::open_table(files_[file], how_);
      std::int64_t first_row = 0, number = 0;
      for (const std::int64_t count : (own ? *own : *opened[file]).blocks()) {
        if (count > 0) {
          begins_.push_back(rows + first_row);
          blocks_.push_back({.file = file, .number = number, .first_row = first_row});
        }
        first_row += count;
        ++number;
      }
      rows += first_row;
      ends_.push_back(rows);
    }
    if (rows == 0) throw usage_error("has no rows", files_.front().string());
    begins_.push_back(rows);
    return columns;
  }

  std::int64_t block_of(std::int64_t sample) const {
    return std::upper_bound(begins_.begin(), begins_.end(), sample) - begins_.begin() - 1;
  }

  // Returns a table whose columns are read again for each use.
  Table cells_of(std::vector<format::WantedColumn> wanted) const {
    Table table{.rows = size(), .how = how_};
    std::vector<std::size_t> with_rows;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (!with_rows.empty() && with_rows.back() == blocks_[i].file) continue;
      with_rows.push_back(blocks_[i].file);
      table.files.push_back({.path = files_[blocks_[i].file], .first_row = begins_[i]});
    }
    table.scans = make_scans([this, wanted = std::move(wanted), with_rows = std::move(with_rows)](
                                 const std::vector<std::size_t>& columns, const TakeChunk& take) {
      std::vector<format::WantedColumn> asked;
      for (const std::size_t column : columns) asked.push_back(wanted[column]);
      std::int64_t first_row = 0;
      for (const std::size_t file : with_rows) {
        const std::int64_t end = ends_.at(file);
        open_.with(file, files_[file], how_, [&](format::TableFile& opened) {
          opened.read(asked);
          for (format::TableChunk chunk; opened.next(chunk); first_row += chunk.rows) {
            if (first_row + chunk.rows > end) throw other_rows(files_[file]);
            take(chunk, first_row);
          }
        });
        if (first_row != end) throw other_rows(files_[file]);
      }
    });
    return table;
  }

  // Reads the cells of a block. Its rows count from 0, and its file begins before them, for the places of mistakes.
  Table read_block(std::int64_t number) const {
    const Block& block = blocks_[static_cast<std::size_t>(number)];
    Table table{.files = {{.path = files_[block.file], .first_row = -block.first_row}}, .how = how_};
    open_.with(block.file, files_[block.file], how_, [&](format::TableFile& file) {
      file.read(encoder_.wanted(/*with_targets=*/true), block.number);
      for (format::TableChunk chunk; file.next(chunk);) {
        const std::int64_t rows = chunk.rows;
        table.pieces.push_back({.chunk = std::move(chunk), .first_row = table.rows});
        table.rows += rows;
      }
    });
    const auto n = static_cast<std::size_t>(number);
    if (table.rows != begins_[n + 1] - begins_[n]) throw other_rows(files_[block.file]);
    return table;
  }

  std::shared_ptr<const Batch> encoded(std::int64_t number) const {
    const Encoded one = encode(encoder_, read_block(number), /*with_targets=*/true);
    Batch batch(inputs_of(one), NamedTensors{{"target", one.targets}});
    batch.weights = one.weights;
    return std::make_shared<const Batch>(std::move(batch));
  }

  const TableSection options_;
  const format::TableOptions how_;
  const std::vector<fs::path> files_;
  std::vector<Block> blocks_;         // those with rows
  std::vector<std::int64_t> begins_;  // of blocks_, and the number of rows
  std::vector<std::int64_t> ends_;    // of files_, in rows
  Encoder encoder_;
  Table table_;  // a stream of the encoder's columns
  bool is_fitted_ = false;
  std::vector<bool> usable_;   // the rows that missing = "drop" leaves; empty: all
  mutable ValueNames values_;  // values of the target, for a stratified split
  mutable std::optional<std::pair<std::int64_t, Table>> looked_at_;  // the block of the last content()
  std::vector<std::string> warnings_;                                // of the fit
  mutable Recent<std::int64_t, Batch> recent_;
  mutable OpenFiles open_;
};

}  // namespace

std::unique_ptr<Dataset> open_table_stream(const TableSection& options, format::TableOptions how,
                                           const Context& context) {
  return std::make_unique<StreamedTable>(options, std::move(how), context);
}

}  // namespace ddp::datasets
