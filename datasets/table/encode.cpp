#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/util/StringUtil.h>

#include "base/error.h"
#include "base/on_threads.h"
#include "config/text/source.h"
#include "datasets/table/encoder.h"

namespace ddp::datasets {
namespace {

using format::ColumnCells;

std::string printed(double value) { return value > 0 ? "inf" : value < 0 ? "-inf" : "nan"; }

// Throws if the sums of a column's numbers overflow a double, because the column then has no scale.
void require_scale(const Scale& scale, const std::string& column, const char* option) {
  if (std::isfinite(scale.shift) && std::isfinite(scale.factor)) return;
  throw usage_error("column \"" + column + "\" cannot be normalised: its numbers are too large", option,
                    "remove the column with dataset.drop, or scale it down in the file");
}

const CellFault kNoTarget = {.one = "is missing, but it is the target",
                             .many = "are missing, but it is the target",
                             .remedy = "remove the rows without a target"};
const CellFault kNotBinary = {.one = "is neither 0 nor 1, as the loss bce_with_logits requires",
                              .many = "are neither 0 nor 1, as the loss bce_with_logits requires",
                              .remedy = "write 0 and 1 in the file, or give loss = \"cross_entropy\" for classes"};
const CellFault kTooLarge = {.one = "is too large for a float32",
                             .many = "are too large for a float32",
                             .remedy = "scale the column down in the file"};

// Rows of a piece that are encoded together, column by column, so that the result stays in a core's cache.
constexpr std::int64_t kTile = 512;

struct Tile {
  const Table::Piece& piece;
  std::int64_t begin = 0;  // rows of the piece
  std::int64_t end = 0;
};

// Encodes the rows of a table into allocated tensors. Several threads share the pieces.
class TableEncoder {
 public:
  TableEncoder(const Encoder& encoder, const Table& table, Encoded& encoded)
      : e_(encoder),
        table_(table),
        width_(encoder.width()),
        encoded_(encoded),
        index_width_(encoder.index_width()),
        inputs_(encoded.inputs.mutable_data_ptr<float>()),
        has_unknown_names_(encoder.features.size()),
        has_missing_names_(encoder.features.size()),
        is_csv_(table.how && table.how->format == "csv"),
        warns_of_missing_(is_csv_ && table.how->missing_values == format::usual_missing_values()) {}

  void encode(const Table::Piece& piece) {
    for (std::int64_t begin = 0; begin < piece.chunk.rows; begin += kTile) {
      encode(Tile{.piece = piece, .begin = begin, .end = std::min(begin + kTile, piece.chunk.rows)});
    }
  }

  bool has_mistakes() const { return has_mistakes_; }
  // Encodes all rows again, in their order, and throws their mistakes.
  void tell_mistakes() {
    telling_ = true;
    for (const Table::Piece& piece : table_.pieces) encode(piece);
    mistakes_.require_none(table_);
  }
  // Returns unknown values, and names that count as missing, with the first ones of each column in the order of the
  // rows.
  std::vector<UnknownNames> unknown_names() const {
    std::vector<UnknownNames> all;
    for (std::size_t i = 0; i < e_.features.size(); ++i) {
      for (const bool missing : {false, true}) {
        if (!(missing ? has_missing_names_ : has_unknown_names_)[i]) continue;
        if (UnknownNames unknown = unknown_of(i, missing); unknown.count > 0) all.push_back(std::move(unknown));
      }
    }
    return all;
  }

 private:
  void encode(const Tile& tile) {
    const std::int64_t first = tile.piece.first_row + tile.begin;
    float* rows = inputs_ + first * width_;
    std::int64_t* indices =
        index_width_ == 0 ? nullptr : encoded_.indices.mutable_data_ptr<std::int64_t>() + first * index_width_;
    std::int64_t column = 0;
    for (std::size_t i = 0; i < e_.features.size(); ++i) {
      const Encoder::Feature& feature = e_.features[i];
      if (feature.is_category() && e_.are_indices) {
        encode_indices(feature, tile, i, indices++);
      } else if (feature.is_category()) {
        encode_names(feature, tile, i, rows + column);
      } else {
        for (std::size_t k = 0; k < feature.inputs.size(); ++k) {
          encode_numbers(feature, k, tile, i, rows + column + static_cast<std::int64_t>(k));
        }
        if (feature.indicator) encode_gaps(tile, i, rows + column + std::ssize(feature.inputs));
      }
      column += e_.width_of(feature);
    }
    if (!encoded_.targets.defined()) return;
    if (!e_.weights.empty()) encode_weights(tile);
    if (e_.kind == TargetKind::classes) {
      encode_classes(tile);
    } else {
      for (std::size_t i = 0; i < e_.targets.size(); ++i) encode_targets(tile, i);
    }
  }

  // `k`: of the feature's inputs. The first one reports missing cells.
  void encode_numbers(const Encoder::Feature& feature, std::size_t k, const Tile& tile, std::size_t i, float* out) {
    const ColumnCells& cells = tile.piece.chunk.columns[i];
    const Encoder::Input& input = feature.inputs[k];
    const Scale& scale = input.scale;
    const auto filled = static_cast<float>(scale.apply(input.fill));
    for (std::int64_t r = tile.begin; r < tile.end; ++r, out += width_) {
      if (cells.is_missing(r)) {
        *out = filled;
        if (k == 0) miss(tile.piece, r, feature);
        continue;
      }
      const double value = input.value_of(cells.numbers[r]);
      *out = static_cast<float>(scale.apply(value));
      if (!std::isfinite(*out) || !std::isfinite(value)) tell_infinite(tile.piece, r, feature.name, value, scale);
    }
  }

  void encode_gaps(const Tile& tile, std::size_t i, float* out) {
    const ColumnCells& cells = tile.piece.chunk.columns[i];
    for (std::int64_t r = tile.begin; r < tile.end; ++r, out += width_) *out = cells.is_missing(r) ? 1 : 0;
  }

  void encode_names(const Encoder::Feature& feature, const Tile& tile, std::size_t i, float* out) {
    for (std::int64_t r = tile.begin; r < tile.end; ++r, out += width_) {
      std::fill(out, out + feature.names(), 0.0f);
      if (const std::int64_t value = value_in(feature, tile, i, r); value >= 0) out[value] = 1;
    }
  }

  void encode_indices(const Encoder::Feature& feature, const Tile& tile, std::size_t i, std::int64_t* out) {
    for (std::int64_t r = tile.begin; r < tile.end; ++r, out += index_width_) *out = value_in(feature, tile, i, r) + 1;
  }

  // Returns the number of the value in a cell of a category; -1: it is missing or unknown.
  std::int64_t value_in(const Encoder::Feature& feature, const Tile& tile, std::size_t i, std::int64_t r) {
    const ColumnCells& cells = tile.piece.chunk.columns[i];
    if (cells.is_missing(r)) {
      if (warns_of_missing_ && !cells.text_of(r).empty()) note(has_missing_names_[i]);
      if (feature.blank_is_value) return feature.values.size();
      miss(tile.piece, r, feature);
      return -1;
    }
    const std::int64_t value = feature.values.find(cells.text_of(r));
    if (value < 0) note(has_unknown_names_[i]);
    return value;
  }

  // Threads share the flag: it is written once.
  static void note(std::atomic<bool>& flag) {
    if (!flag.load(std::memory_order_relaxed)) flag = true;
  }

  // Does not count unknown values of rows that are left out.
  UnknownNames unknown_of(std::size_t i, bool missing) const {
    UnknownNames unknown{.column = e_.features[i].name, .count_as_missing = missing};
    ValueNames seen;
    for (const Table::Piece& piece : table_.pieces) {
      const ColumnCells& cells = piece.chunk.columns[i];
      for (std::int64_t r = 0; r < piece.chunk.rows; ++r) {
        if (cells.is_missing(r) != missing) continue;
        if (missing && cells.text_of(r).empty()) continue;
        if (!missing && (is_left_out(piece, r) || e_.features[i].values.find(cells.text_of(r)) >= 0)) continue;
        ++unknown.count;
        if (seen.size() < UnknownNames::kShown) seen.add(cells.text_of(r));
      }
    }
    unknown.first = seen.names();
    return unknown;
  }

  void encode_classes(const Tile& tile) {
    const ColumnCells& cells = tile.piece.chunk.columns[e_.features.size()];
    std::int64_t* out = encoded_.targets.mutable_data_ptr<std::int64_t>() + tile.piece.first_row + tile.begin;
    for (std::int64_t r = tile.begin; r < tile.end; ++r, ++out) {
      const std::int64_t value = cells.is_missing(r) ? -1 : e_.classes.find(cells.text_of(r));
      *out = value;
      if (value >= 0 || is_left_out(tile.piece, r)) continue;
      if (cells.is_missing(r)) {
        no_class(tile.piece, r, is_csv_ ? cells.text_of(r) : "");
      } else {
        unknown_class(tile.piece, r, cells.text_of(r));
      }
    }
  }

  void encode_targets(const Tile& tile, std::size_t i) {
    const ColumnCells& cells = tile.piece.chunk.columns[e_.features.size() + i];
    const auto stride = static_cast<std::int64_t>(e_.targets.size());
    float* out = encoded_.targets.mutable_data_ptr<float>() + (tile.piece.first_row + tile.begin) * stride +
                 static_cast<std::int64_t>(i);
    for (std::int64_t r = tile.begin; r < tile.end; ++r, out += stride) {
      *out = 0;
      if (is_left_out(tile.piece, r)) continue;
      if (cells.is_missing(r)) {
        mistake(tile.piece, r, e_.targets[i], kNoTarget);
        continue;
      }
      const double value = cells.numbers[r];
      const TargetTransform transform = e_.target_scales[i].transform;
      *out = static_cast<float>(e_.target_scales[i].apply(value));
      if (std::isfinite(value) && !std::isfinite(apply(transform, value))) {
        mistake(tile.piece, r, e_.targets[i],
                {.one = "is " + c10::str(value) + ", which has no " +
                        names_of(transform)[static_cast<std::size_t>(transform)],
                 .many = "have no " + std::string(names_of(transform)[static_cast<std::size_t>(transform)]),
                 .remedy = "leave these rows out, or give another dataset.target_transform"});
      } else if (e_.kind == TargetKind::binary && std::isfinite(value) && value != 0 && value != 1) {
        mistake(tile.piece, r, e_.targets[i], kNotBinary);
      } else if (!std::isfinite(*out)) {
        tell_infinite(tile.piece, r, e_.targets[i], value, e_.target_scales[i]);
      }
    }
  }

  void encode_weights(const Tile& tile) {
    const ColumnCells& cells = tile.piece.chunk.columns[e_.features.size() + e_.targets.size()];
    float* out = encoded_.weights.mutable_data_ptr<float>() + tile.piece.first_row + tile.begin;
    for (std::int64_t r = tile.begin; r < tile.end; ++r, ++out) {
      const double value = cells.is_missing(r) ? 0 : cells.numbers[r];
      *out = static_cast<float>(value);
      if (is_left_out(tile.piece, r)) continue;
      if (cells.is_missing(r)) {
        mistake(tile.piece, r, e_.weights, {.one = "is missing", .many = "are missing"});
      } else if (!(value >= 0) || !std::isfinite(*out)) {
        mistake(tile.piece, r, e_.weights,
                {.one = "is " + c10::str(value) + ", and a weight is a finite number from 0",
                 .many = "are not finite numbers from 0, as weights are"});
      }
    }
  }

  // Records a number that is infinite, or becomes infinite as a float32. If the scale itself is infinite, require_scale
  // reports that instead.
  void tell_infinite(const Table::Piece& piece, std::int64_t r, const std::string& column, double value,
                     const Scale& scale) {
    if (!std::isfinite(value)) {
      mistake(piece, r, column, {.one = "is " + printed(value), .many = "are infinite"});
    } else if (std::isfinite(scale.shift) && std::isfinite(scale.factor)) {
      mistake(piece, r, column, kTooLarge);
    }
  }

  // `text`: of a cell that counts as missing though it is not empty.
  void no_class(const Table::Piece& piece, std::int64_t r, std::string_view text) {
    if (text.empty()) return mistake(piece, r, e_.targets.front(), kNoTarget);
    const std::string value = config::in_quotes(text);
    mistake(piece, r, e_.targets.front(),
            {.one = "is " + value + ", which counts as missing, but it is the target",
             .many = "count as missing, the first is " + value + ", but it is the target",
             .remedy = e_.trained_before ? kNoTarget.remedy
                                         : "remove these rows, or, if " + value +
                                               " is a class, leave it out of dataset.missing_values"});
  }

  void unknown_class(const Table::Piece& piece, std::int64_t r, std::string_view name) {
    const bool are_given = !e_.given_classes.empty();
    const std::string where = are_given ? "dataset.classes does not name" : "the training rows do not have";
    std::string remedy = are_given ? "add the class to dataset.classes" : "list all classes in dataset.classes";
    if (e_.trained_before)
      remedy = "remove these rows, or train again with them: the model has no output for the class";
    if (e_.classes.is_numeric() && !e_.trained_before) remedy += "; to predict a number, give loss = \"mse\"";
    const std::string value = "\"" + std::string(name) + "\"";
    mistake(piece, r, e_.targets.front(),
            {.one = "is " + value + ", a class that " + where,
             .many = "are classes that " + where + ", the first is " + value,
             .remedy = remedy});
  }

  void miss(const Table::Piece& piece, std::int64_t r, const Encoder::Feature& feature) {
    if (e_.refuses_missing(feature)) {
      mistake(piece, r, feature.name, {.one = "is missing", .many = "are missing", .remedy = e_.if_missing()});
    } else if (e_.missing == "drop") {
      encoded_.usable.mutable_data_ptr<bool>()[piece.first_row + r] = false;
    }
  }

  // Was the row left out because of its features? Its target does not matter then.
  bool is_left_out(const Table::Piece& piece, std::int64_t r) const {
    return e_.missing == "drop" && !encoded_.usable.const_data_ptr<bool>()[piece.first_row + r];
  }

  void mistake(const Table::Piece& piece, std::int64_t r, const std::string& column, const CellFault& fault) {
    has_mistakes_ = true;
    if (telling_) mistakes_.add(piece.first_row + r, column, fault);
  }

  const Encoder& e_;
  const Table& table_;
  const std::int64_t width_;
  Encoded& encoded_;
  const std::int64_t index_width_;
  float* const inputs_;
  std::vector<std::atomic<bool>> has_unknown_names_;  // of each feature
  std::vector<std::atomic<bool>> has_missing_names_;  // of each feature: names that count as missing
  const bool is_csv_;
  const bool warns_of_missing_;
  std::atomic<bool> has_mistakes_{false};
  bool telling_ = false;
  Mistakes mistakes_;
};

}  // namespace

Encoded encode(const Encoder& e, const Table& table, bool with_targets) {
  Encoded encoded;
  encoded.inputs = at::empty({table.rows, e.width()}, at::kFloat);
  if (e.index_width() > 0) encoded.indices = at::empty({table.rows, e.index_width()}, at::kLong);
  encoded.usable = at::full({table.rows}, true, at::kBool);
  if (with_targets) {
    encoded.targets = e.kind == TargetKind::classes
                          ? at::empty({table.rows}, at::kLong)
                          : at::empty({table.rows, static_cast<std::int64_t>(e.targets.size())}, at::kFloat);
  }
  if (with_targets && !e.weights.empty()) encoded.weights = at::empty({table.rows}, at::kFloat);
  TableEncoder encoder(e, table, encoded);
  on_threads(std::ssize(table.pieces), at::get_num_threads(),
             [&](std::int64_t i) { encoder.encode(table.pieces[static_cast<std::size_t>(i)]); });
  encoded.unknown_names = encoder.unknown_names();
  if (encoder.has_mistakes()) encoder.tell_mistakes();
  for (const Encoder::Feature& feature : e.features) {
    for (const Encoder::Input& input : feature.inputs) require_scale(input.scale, feature.name, "dataset.normalise");
  }
  for (std::size_t i = 0; with_targets && i < e.target_scales.size(); ++i) {
    require_scale(e.target_scales[i], e.targets[i], "dataset.normalise_targets");
  }
  return encoded;
}

NamedTensors inputs_of(const Encoded& encoded) {
  NamedTensors inputs;
  if (encoded.inputs.size(1) > 0) inputs.emplace_back(encoded.indices.defined() ? "numbers" : "input", encoded.inputs);
  if (encoded.indices.defined()) inputs.emplace_back("categories", encoded.indices);
  return inputs;
}

void add(std::vector<UnknownNames>& all, const std::vector<UnknownNames>& more) {
  for (const UnknownNames& one : more) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const auto& other) {
      return other.column == one.column && other.count_as_missing == one.count_as_missing;
    });
    if (known == all.end()) {
      all.push_back(one);
      continue;
    }
    known->count += one.count;
    for (const std::string& name : one.first) {
      const bool is_new = std::find(known->first.begin(), known->first.end(), name) == known->first.end();
      if (is_new && std::ssize(known->first) < UnknownNames::kShown) known->first.push_back(name);
    }
  }
}

std::vector<std::string> in_words(const std::vector<UnknownNames>& unknown) {
  std::vector<std::string> lines;
  for (const UnknownNames& one : unknown) {
    std::string names;
    for (const std::string& name : one.first) names += (names.empty() ? "" : ", ") + config::in_quotes(name);
    lines.push_back("column " + config::in_quotes(one.column) + ": " + std::to_string(one.count) +
                    (one.count == 1 ? " cell holds " : " cells hold ") + names +
                    (one.count > std::ssize(one.first) && std::ssize(one.first) == UnknownNames::kShown ? ", …" : "") +
                    (one.count_as_missing
                         ? ", which counts as missing by dataset.missing_values"
                         : ", which the training rows do not have: all columns of the category are 0"));
  }
  return lines;
}

}  // namespace ddp::datasets
