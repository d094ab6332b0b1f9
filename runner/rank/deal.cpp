#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/sum.h>
#include <c10/util/StringUtil.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "config/text/source.h"
#include "data/batches.h"
#include "data/sets.h"
#include "datasets/dataset.h"
#include "datasets/image/image_set.h"
#include "datasets/table/encoder.h"
#include "datasets/table/options.h"
#include "rank/predict.h"
#include "rank/predictions.h"
#include "rank/process.h"
#include "rank/verbs.h"
#include "train/loss/loss.h"

namespace ddp::rank {
namespace {

constexpr std::int64_t kBlockRows = 4096;
// Limits memory if rows are images: each end of a pipe holds a block.
constexpr std::int64_t kBlockBytes = 16 << 20;

std::vector<DealtRows::Input> layout_of(const NamedTensors& rows) {
  std::vector<DealtRows::Input> inputs;
  for (const auto& [name, tensor] : rows) {
    inputs.push_back({.type = static_cast<std::int64_t>(tensor.scalar_type()), .shape = tensor.sizes().slice(1).vec()});
  }
  return inputs;
}

// "[3, 4] of Float"
std::string layout_text(const std::vector<DealtRows::Input>& inputs) {
  std::string text;
  for (const auto& input : inputs) {
    text += (text.empty() ? "" : " and ") + c10::str(at::IntArrayRef(input.shape)) + " of " +
            c10::toString(static_cast<at::ScalarType>(input.type));
  }
  return text;
}

// Deals rows to the ranks in blocks of the same size; the last block may be shorter.
class Dealer {
 public:
  explicit Dealer(const DealRequest& request) : r_(request) {}

  // Declares the layout of the next rows, which are in `file`. The first call sends the layout to the ranks. Throws
  // ddp::Error (usage) if a later layout differs.
  void begin(const std::vector<DealtRows::Input>& inputs, const std::string& file,
             const std::vector<std::string>& labels = {}) {
    if (!rows_.inputs.empty()) {
      if (inputs == rows_.inputs) return;
      throw usage_error(
          "has rows of shape " + layout_text(inputs) + ", but " + rows_.file + " has " + layout_text(rows_.inputs),
          file, "all files must have rows of the same shape and type");
    }
    std::int64_t bytes = 1;
    for (const auto& input : inputs) {
      std::int64_t values = static_cast<std::int64_t>(c10::elementSize(static_cast<at::ScalarType>(input.type)));
      for (const std::int64_t extent : input.shape) values *= extent;
      if (values == 0) throw usage_error("has rows without numbers", file);
      row_bytes_.push_back(static_cast<std::size_t>(values));
      bytes += values;
    }
    const std::int64_t most = std::clamp<std::int64_t>(kBlockBytes / bytes, 1, kBlockRows);
    rows_ = {.file = file,
             .block_rows = std::max<std::int64_t>(1, most / r_.batch_size) * r_.batch_size,
             .labels = labels,
             .inputs = inputs};
    partial_.resize(inputs.size());
    const std::string text = json_line(config::written(rows_));
    for (const std::int64_t pipe : r_.pipes) write_block(static_cast<int>(pipe), text.data(), text.size());
  }

  std::int64_t block_rows() const { return rows_.block_rows; }

  // Adds rows; each input is [n, …] and contiguous. `labels`: those of each row, row by row.
  void add(const NamedTensors& inputs, const std::vector<std::string>& labels = {}) {
    const std::int64_t count = inputs.front().second.size(0);
    for (std::int64_t row = 0; row < count;) {
      const std::int64_t taken = std::min(rows_.block_rows - partial_rows_, count - row);
      const bool whole = taken == rows_.block_rows;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::size_t bytes = static_cast<std::size_t>(taken) * row_bytes_[i];
        const char* from =
            static_cast<const char*>(inputs[i].second.const_data_ptr()) + static_cast<std::size_t>(row) * row_bytes_[i];
        if (whole) {
          write_block(next_pipe(), from, bytes);
        } else {
          partial_[i].append(from, bytes);
        }
      }
      const auto width = std::ssize(rows_.labels);
      for (std::int64_t i = row * width; i < (row + taken) * width; ++i) {
        labels_ += labels[static_cast<std::size_t>(i)] + '\0';
      }
      if (whole) send_labels();
      row += taken;
      partial_rows_ += whole ? 0 : taken;
      if (whole) ++turn_;
      if (partial_rows_ == rows_.block_rows) send_partial();
    }
  }

  void end() {
    if (partial_rows_ > 0) send_partial();
    for (const std::int64_t pipe : r_.pipes) end_blocks(static_cast<int>(pipe));
  }

 private:
  int next_pipe() const { return static_cast<int>(r_.pipes[turn_ % r_.pipes.size()]); }

  void send_partial() {
    for (std::string& block : partial_) {
      write_block(next_pipe(), block.data(), block.size());
      block.clear();
    }
    send_labels();
    partial_rows_ = 0;
    ++turn_;
  }

  void send_labels() {
    if (rows_.labels.empty()) return;
    write_block(next_pipe(), labels_.data(), labels_.size());
    labels_.clear();
  }

  const DealRequest& r_;
  DealtRows rows_;
  std::vector<std::size_t> row_bytes_;  // of each input
  std::vector<std::string> partial_;    // for each input, the rows of the incomplete block
  std::int64_t partial_rows_ = 0;
  std::string labels_;  // of the block's rows, each followed by a zero byte
  std::size_t turn_ = 0;
};

// Returns the cells of the columns to keep, which are the last ones, row by row. Throws ddp::Error (usage) if a cell
// holds a zero byte, which ends a label.
std::vector<std::string> labels_in(const datasets::Table& table, const std::vector<std::string>& keep) {
  const format::TableChunk& chunk = table.pieces.front().chunk;
  std::vector<std::string> labels;
  for (std::int64_t row = 0; row < chunk.rows; ++row) {
    for (std::size_t i = 0; i < keep.size(); ++i) {
      labels.emplace_back(chunk.columns[chunk.columns.size() - keep.size() + i].text_of(row));
      if (labels.back().find('\0') == std::string::npos) continue;
      throw usage_error("column " + config::in_quotes(keep[i]) + " holds a zero byte, which cannot be kept",
                        table.places_of({row}).at(row));
    }
  }
  return labels;
}

void deal_tables(const DealRequest& request, const Task& t, Dealer& dealer) {
  datasets::Encoder encoder = datasets::encoder_from_json(t.preprocessing);
  encoder.keeps_rows = true;
  encoder.trained_before = true;
  std::vector<DealtRows::Input> inputs;
  if (encoder.width() > 0)
    inputs.push_back({.type = static_cast<std::int64_t>(at::kFloat), .shape = {encoder.width()}});
  if (encoder.index_width() > 0) {
    inputs.push_back({.type = static_cast<std::int64_t>(at::kLong), .shape = {encoder.index_width()}});
  }
  dealer.begin(inputs, request.inputs.front(), request.keep);
  std::vector<format::WantedColumn> wanted = encoder.wanted(/*with_targets=*/false);
  for (const std::string& name : request.keep) wanted.push_back({.name = name, .type = format::CellType::text});
  std::vector<datasets::UnknownNames> unknown;
  for (const std::string& input : request.inputs) {
    const format::TableOptions options = datasets::table_options(t.experiment->dataset, input);
    const auto file = format::open_table(input, options);
    file->read(wanted);
    datasets::Table table{.pieces = {}, .files = {{.path = input, .first_row = 0}}, .rows = 0, .how = options};
    std::int64_t first = 0;
    for (format::TableChunk chunk; file->next(chunk);) {
      table.files.front().first_row = -first;
      table.rows = chunk.rows;
      table.pieces.clear();
      table.pieces.push_back({.chunk = std::move(chunk), .first_row = 0});
      first += table.rows;
      const datasets::Encoded encoded = datasets::encode(encoder, table, /*with_targets=*/false);
      datasets::add(unknown, encoded.unknown_names);
      dealer.add(datasets::inputs_of(encoded), labels_in(table, request.keep));
      t.progress->rank(t.rank).note_activity();
    }
  }
  for (const std::string& line : datasets::in_words(unknown)) log::warn(line);
}

// Builds the run's dataset from other files.
std::unique_ptr<datasets::Dataset> dataset_over(const std::vector<std::string>& files, const Task& t) {
  const config::Component trained = data::dataset_to_measure(*t.experiment);
  config::Value options = trained.options;
  const auto& option = datasets::registry().traits(trained.name).at("predicts_from").get_ref<const std::string&>();
  options[option] = files.size() == 1 ? config::Value(files.front()) : config::Value(files);
  return datasets::registry().build(trained.name, options,
                                    {.role = datasets::Role::prediction,
                                     .loss = t.experiment->loss.name,
                                     .ignored_target = t.experiment->ignored_target(),
                                     .preprocessing = t.preprocessing,
                                     .own_transforms = data::has_own_transforms(*t.experiment, trained),
                                     .seed = static_cast<std::uint64_t>(t.experiment->seed)});
}

// Counts the infinite and NaN numbers.
std::int64_t count_not_finite(const NamedTensors& rows) {
  std::int64_t count = 0;
  for (const auto& [name, tensor] : rows) {
    if (tensor.is_floating_point()) count += tensor.numel() - tensor.isfinite().sum().item<std::int64_t>();
  }
  return count;
}

// Returns "folder" for "folder/".
std::string without_end(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The text that the user wrote for each input, by the input's absolute path.
using GivenPaths = std::map<std::string, std::string>;

// Returns a row's path with its given part as the user wrote it. The given part is the file, a folder above it, or the
// archive of "ARCHIVE, MEMBER".
std::string as_given(const std::string& path, const GivenPaths& given) {
  const std::size_t comma = path.find(", ");
  const auto archive = comma == std::string::npos ? given.end() : given.find(path.substr(0, comma));
  if (archive != given.end()) return archive->second + path.substr(comma);
  for (std::size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('/', end - 1)) {
    const auto found = given.find(path.substr(0, end));
    if (found != given.end()) return found->second + path.substr(end);
  }
  return path;
}

// Returns the first sample that decodes.
datasets::Batch first_sample(const datasets::MapDataset& samples) {
  for (std::int64_t i = 0;; ++i) {
    if (i == samples.size()) throw usage_error("no image decodes", samples.left_out().front());
    datasets::Batch batch = samples.gather(at::arange(i, i + 1, at::kLong), /*epoch=*/0);
    if (batch.samples() > 0) return batch;
  }
}

// Deals the samples of one file, or of several files that hold the same rows. Returns the number of values that are not
// finite.
std::int64_t deal_samples(const datasets::MapDataset& samples, const std::string& file, const GivenPaths& given,
                          const Task& t, Dealer& dealer) {
  std::int64_t not_finite = 0;
  const auto gather = [&](std::int64_t begin, std::int64_t end) {
    return samples.gather(at::arange(begin, end, at::kLong), /*epoch=*/0);
  };
  const bool has_paths = !samples.sample_path(0).empty();
  const std::int64_t size = samples.size();
  dealer.begin(layout_of(first_sample(samples).inputs), file,
               has_paths ? std::vector<std::string>{"path"} : std::vector<std::string>());
  const std::int64_t rows = dealer.block_rows();
  const std::int64_t blocks = (size + rows - 1) / rows;
  const auto block_of = [&](std::int64_t block) { return gather(block * rows, std::min(size, (block + 1) * rows)); };
  std::optional<data::Prefetch> ahead;
  if (!samples.in_memory() && t.experiment->loader.workers > 0) {
    ahead.emplace(t.experiment->loader.workers, 0, blocks, block_of);
  }
  for (std::int64_t block = 0; block < blocks; ++block) {
    const NamedTensors inputs = (ahead ? ahead->next() : block_of(block)).inputs;
    if (inputs.front().second.size(0) == 0) continue;  // no image of the block decodes
    const std::vector<std::string> bad = samples.left_out();
    std::vector<std::string> paths;
    for (std::int64_t i = block * rows; has_paths && i < std::min(size, (block + 1) * rows); ++i) {
      const std::string path = samples.sample_path(i);
      if (std::find(bad.begin(), bad.end(), path) == bad.end()) paths.push_back(as_given(path, given));
    }
    not_finite += count_not_finite(inputs);
    dealer.add(inputs, paths);
    t.progress->rank(t.rank).note_activity();
  }
  for (const std::string& path : samples.left_out()) log::warn(as_given(path, given) + " does not decode: left out");
  return not_finite;
}

void deal_files(const DealRequest& request, const Task& t, Dealer& dealer) {
  // For images, a file is a row, so one dataset takes all files.
  const bool images = datasets::registry().traits(t.experiment->dataset.name).value("library", "") == "images";
  const auto together = images ? std::ssize(request.inputs) : request.files_of_row;
  GivenPaths given;
  for (std::size_t i = 0; i < request.shown.size(); ++i) {
    given.emplace(without_end(request.inputs[i]), without_end(request.shown[i]));
  }
  std::int64_t not_finite = 0;
  for (auto next = request.inputs.begin(); next != request.inputs.end(); next += together) {
    const auto dataset = dataset_over({next, next + together}, t);
    const auto* samples = dynamic_cast<const datasets::MapDataset*>(dataset.get());
    if (samples == nullptr) {
      throw usage_error("the dataset \"" + t.experiment->dataset.name + "\" has no access to samples by index", *next);
    }
    not_finite += deal_samples(*samples, *next, given, t, dealer);
  }
  if (not_finite > 0) {
    log::warn(std::to_string(not_finite) +
              (not_finite == 1 ? " number of the inputs is" : " numbers of the inputs are") +
              " not finite (inf or nan): the model gets them unchanged");
  }
}

// The targets of held-out rows as texts: names of classes, or numbers in the unit of the data.
class TargetTexts {
 public:
  explicit TargetTexts(const Task& t) : schema_(schema_of(t)) {}

  // Appends the cells of a row. `target`: [rows, …], its row has a class, or a number for each target.
  void append(std::vector<std::string>& cells, const at::Tensor& target, std::int64_t row) const {
    const at::Tensor values = target[row].reshape(-1);
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      if (!values.is_floating_point()) {
        const auto value = values[i].item<std::int64_t>();
        const bool is_named =
            schema_.kind == datasets::TargetKind::classes && value >= 0 && value < std::ssize(schema_.classes);
        cells.push_back(is_named ? schema_.classes[static_cast<std::size_t>(value)] : std::to_string(value));
        continue;
      }
      const auto value = values[i].item<double>();
      const bool is_scaled = static_cast<std::size_t>(i) < schema_.scales.size();
      // As many digits as a float32 has: the cell of the file, unless it has more.
      cells.push_back(
          number_text(static_cast<float>(is_scaled ? schema_.scales[static_cast<std::size_t>(i)].undo(value) : value)));
    }
  }
  std::vector<std::string> names(std::int64_t count) const {
    if (count == 1) return {"target"};
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool is_named = std::ssize(schema_.targets) == count;
      names.push_back("target_" + (is_named ? schema_.targets[static_cast<std::size_t>(i)] : std::to_string(i)));
    }
    return names;
  }

 private:
  static std::string number_text(float value) {
    char text[40];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
  }

  const PredictionSchema schema_;
};

void deal_held_out(const Task& t, Dealer& dealer) {
  const data::Sets sets = build_sets(t);
  const datasets::MapDataset& dataset = *sets.validation.map();
  const at::Tensor& samples = sets.validation.samples;
  const TargetTexts texts(t);
  for (std::int64_t begin = 0; begin < samples.size(0); begin += kBlockRows) {
    const at::Tensor block = samples.narrow(0, begin, std::min(kBlockRows, samples.size(0) - begin));
    const datasets::Batch batch = dataset.gather(block, /*epoch=*/0);
    const at::Tensor& target = train::only_target(batch.targets);
    std::vector<std::string> labels{"row"};
    for (std::string& name : texts.names(target.numel() / std::max<std::int64_t>(1, target.size(0))))
      labels.push_back(std::move(name));
    dealer.begin(layout_of(batch.inputs), "validation", labels);
    std::vector<std::string> cells;
    for (std::int64_t row = 0; row < block.size(0); ++row) {
      cells.push_back(std::to_string(block[row].item<std::int64_t>()));
      texts.append(cells, target, row);
    }
    dealer.add(batch.inputs, cells);
    t.progress->rank(t.rank).note_activity();
  }
}

void deal(const DealRequest& request, const Task& t, const TakeReply&) {
  at::set_num_threads(static_cast<int>(*t.experiment->threads));
  Dealer dealer(request);
  if (request.held_out) {
    deal_held_out(t, dealer);
  } else if (datasets::is_table(t.preprocessing)) {
    deal_tables(request, t, dealer);
  } else {
    deal_files(request, t, dealer);
  }
  dealer.end();
}

const bool deal_registered = verbs().add<DealRequest>(DealRequest::kVerb, "reads rows and deals them to ranks", deal);

}  // namespace

}  // namespace ddp::rank
