#include "rank/predictions.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <ATen/ops/argmax.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <c10/util/StringUtil.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/text_number.h"
#include "rank/request.h"

namespace ddp::rank {
namespace {

// Returns the array name of an option: "y" for "y", "y.npy" and "y-*.npy".
std::string target_name(const config::Value& option) {
  const config::Value& first = option.is_array() && !option.empty() ? option.front() : option;
  std::string name = first.is_string() ? first.get<std::string>() : "";
  const std::filesystem::path path(name);
  if (path.extension() != ".npy") return name.empty() ? "target" : name;
  name = path.stem().string();
  if (const auto pattern = name.find_first_of("*?["); pattern != std::string::npos) name.resize(pattern);
  while (!name.empty() && std::ispunct(static_cast<unsigned char>(name.back())) != 0) name.pop_back();
  return name.empty() ? "target" : name;
}

}  // namespace

PredictionSchema schema_of(const Task& t, const std::vector<std::string>& labels) {
  const std::string& loss = t.experiment->loss.name;
  if (datasets::is_table(t.preprocessing)) {
    datasets::Encoder e = datasets::encoder_from_json(t.preprocessing);
    return {.kind = e.kind,
            .loss = loss,
            .of_table = true,
            .labels = labels,
            .targets = std::move(e.targets),
            .classes = e.classes.names(),
            .scales = datasets::target_scales(t.preprocessing),
            .others = {}};
  }
  const config::Value& options = t.experiment->dataset.options;
  return {.kind = datasets::target_kind(loss),
          .loss = loss,
          .of_table = false,
          .labels = labels,
          .targets = {target_name(options.value("targets", config::Value()))},
          .classes = t.preprocessing.is_object() ? t.preprocessing.value("classes", std::vector<std::string>())
                                                 : std::vector<std::string>(),
          .scales = {},
          .others = {}};
}

namespace {

using datasets::TargetKind;
using format::OutputColumn;
using format::OutputType;

void append_number(std::string& text, double value, bool is_float) {
  char number[40];
  const auto end = is_float ? std::to_chars(number, number + sizeof number, static_cast<float>(value)).ptr
                            : std::to_chars(number, number + sizeof number, value).ptr;
  text.append(number, end);
}

// Is the name the text of its number, so that a column of numbers does not change it? "007" and "1.50" are not.
bool is_integer(const std::string& name) {
  const auto number = text_number<std::int64_t>(name);
  return number && std::to_string(*number) == name;
}

bool is_double(const std::string& name) {
  const auto number = text_number<double>(name);
  if (!number || !std::isfinite(*number)) return false;
  char shortest[32], digits[400];  // the greatest double has 309 digits
  const auto end = std::to_chars(shortest, shortest + sizeof shortest, *number).ptr;
  const auto last = std::to_chars(digits, digits + sizeof digits, *number, std::chars_format::fixed).ptr;
  return name == std::string_view(shortest, end) || name == std::string_view(digits, last);
}

// Returns a number type if all names are numbers that keep their texts, else text.
OutputType type_of_names(const std::vector<std::string>& names) {
  if (std::all_of(names.begin(), names.end(), is_integer)) return OutputType::integer;
  return std::all_of(names.begin(), names.end(), is_double) ? OutputType::float64 : OutputType::text;
}

// Appends the cells of a column to a Parquet block.
template <class Cell, class CellOf>
void append_column(std::string& block, std::int64_t rows, const CellOf& cell_of) {
  const std::size_t begin = block.size();
  const std::size_t bytes = static_cast<std::size_t>(rows) * sizeof(Cell);
  block.resize(begin + (bytes + 7) / 8 * 8);
  char* to = block.data() + begin;
  for (std::int64_t row = 0; row < rows; ++row, to += sizeof(Cell)) {
    const Cell cell = cell_of(row);
    std::memcpy(to, &cell, sizeof cell);
  }
}

}  // namespace

Form form_named(const std::string& name) {
  if (name == "npy") return Form::npy;
  if (name == "floats") return Form::floats;
  return name == "parquet" ? Form::parquet : Form::csv;
}

Predictions::Predictions(PredictionSchema schema, Form form, const at::Tensor& looked)
    : schema_(std::move(schema)), form_(form) {
  require_fit(looked);
  row_shape_ = looked.sizes().slice(1).vec();
  if (row_shape_.size() == 1) width_ = row_shape_.front();
  if (form_ != Form::npy && form_ != Form::floats) {
    name_columns();
    for (const std::string& name : schema_.others) columns_.push_back({.name = name});
  }
  for (auto label = columns_.begin(); label != columns_.begin() + std::ssize(schema_.labels); ++label) {
    const bool taken = std::any_of(label + 1, columns_.end(), [&](const auto& one) { return one.name == label->name; });
    if (taken) throw usage_error("column \"" + label->name + "\" has the name of a result", "--keep");
  }
}

void Predictions::require_fit(const at::Tensor& looked) const {
  const std::string shape = "has outputs of shape " + c10::str(looked.sizes());
  const auto targets = static_cast<std::int64_t>(schema_.targets.size());
  if (looked.dim() == 0 || looked.size(0) != 1) {
    throw usage_error(shape + " for one row", "the model", "the first dimension of outputs must be the rows");
  }
  if (schema_.kind == TargetKind::classes && (looked.dim() < 2 || looked.dim() == 3)) {
    throw usage_error(shape + ", and the loss \"" + schema_.loss + "\" needs classes", "the model",
                      "predict accepts outputs [n, classes] or [n, classes, height, width]");
  }
  if (schema_.of_table && (looked.dim() != 2 || (schema_.kind != TargetKind::classes && looked.size(1) != targets))) {
    throw usage_error(shape + ", but the data have " + std::to_string(targets) + " target columns", "the model");
  }
  if (looked.dim() > 2 && form_ != Form::npy && form_ != Form::floats) {
    throw usage_error(shape + ", which cannot be table columns", "the model", "write them to a .npy file: -o");
  }
}

std::vector<std::string> Predictions::target_names() const {
  if (schema_.targets.size() != 1 || width_ == 1) return schema_.targets;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < width_; ++i) names.push_back(schema_.targets.front() + "_" + std::to_string(i));
  return names;
}

void Predictions::name_columns() {
  for (const std::string& name : schema_.labels) columns_.push_back({.name = name, .type = OutputType::label});
  if (schema_.kind == TargetKind::classes) {
    // A model may have more outputs than the data have classes.
    for (std::int64_t i = 0; i < width_; ++i) {
      const auto known = static_cast<std::int64_t>(schema_.classes.size());
      classes_.push_back(i < known ? schema_.classes[static_cast<std::size_t>(i)] : std::to_string(i));
    }
    columns_.push_back({.name = "prediction", .type = type_of_names(classes_), .values = {}});
    prediction_ = columns_.back().type;
    if (columns_.back().type == OutputType::text) columns_.back().values = classes_;
    for (const std::string& name : classes_) columns_.push_back({.name = "probability_" + name});
    return;
  }
  const bool binary = schema_.kind == TargetKind::binary;
  const OutputType type = binary ? OutputType::integer : writes_scaled() ? OutputType::float64 : OutputType::float32;
  for (const std::string& name : target_names()) columns_.push_back({.name = "prediction_" + name, .type = type});
  if (!binary) return;
  for (const std::string& name : target_names()) columns_.push_back({.name = "probability_" + name});
}

std::string Predictions::head() const {
  if (form_ == Form::floats) return "";
  if (form_ == Form::npy) return config::Value(row_shape_).dump();
  if (form_ == Form::csv) {
    std::string line;
    for (const OutputColumn& column : columns_) line += (line.empty() ? "" : ",") + csv_cell(column.name);
    return line + "\n";
  }
  return json_line(config::written(columns_));
}

at::Tensor Predictions::probabilities(const at::Tensor& output) const {
  const at::Tensor exact = schema_.decision.calibrates() ? output.to(at::kDouble) : output;
  const at::Tensor values = schema_.loss == "nll"                 ? at::exp(exact)
                            : schema_.kind == TargetKind::classes ? at::softmax(exact, 1)
                            : schema_.kind == TargetKind::binary  ? at::sigmoid(exact)
                                                                  : exact;
  return schema_.decision.calibrated(values).to(at::kFloat);
}

at::Tensor Predictions::predicted_classes(const at::Tensor& values) const {
  const train::Decision& decision = schema_.decision;
  if (!decision.threshold) return values.argmax(1);
  const at::Tensor is_positive = values.select(1, decision.positive).ge(*decision.threshold).to(at::kLong);
  return decision.positive == 1 ? is_positive : is_positive.eq(0).to(at::kLong);
}

bool Predictions::is_set(float probability) const {
  const auto& threshold = schema_.decision.threshold;
  return threshold ? probability >= *threshold : probability > 0.5f;
}

void Predictions::append(std::string& block, std::int64_t first_row, const at::Tensor& output, const at::Tensor& others,
                         const std::string& labels) const {
  const at::Tensor values = probabilities(output.detach().to(at::kCPU, at::kFloat)).contiguous();
  const bool are_floats = form_ == Form::npy || form_ == Form::floats;
  if (are_floats || !schema_.other_models.empty()) undo_scales(values);
  if (!schema_.other_models.empty()) average(values, first_row);
  if (are_floats) {
    block.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  } else if (form_ == Form::csv) {
    append_lines(block, values, others, labels);
  } else {
    append_cells(block, values, others, labels);
  }
}

// Converts standardised targets back to their units, in double precision.
void Predictions::undo_scales(const at::Tensor& values) const {
  if (schema_.scales.empty()) return;
  float* row = values.mutable_data_ptr<float>();
  for (std::int64_t r = 0; r < values.size(0); ++r, row += width_) {
    for (std::int64_t i = 0; i < width_; ++i) {
      row[i] = static_cast<float>(schema_.scales[static_cast<std::size_t>(i)].undo(row[i]));
    }
  }
}

// Replaces values by their mean with the values of the other models.
void Predictions::average(const at::Tensor& values, std::int64_t first_row) const {
  const std::int64_t count = values.numel(), width = values.size(0) == 0 ? 0 : count / values.size(0);
  std::vector<double> sums(static_cast<std::size_t>(count), 0);
  std::vector<float> others(static_cast<std::size_t>(count));
  for (const std::string& file : schema_.other_models) {
    std::ifstream in(file, std::ios::binary);
    in.seekg(first_row * width * static_cast<std::int64_t>(sizeof(float)));
    in.read(reinterpret_cast<char*>(others.data()), count * static_cast<std::int64_t>(sizeof(float)));
    if (!in) throw training_error("cannot read the results of another model: " + errno_text(errno), file);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
  }
  auto* own = values.mutable_data_ptr<float>();
  const auto models = static_cast<double>(schema_.other_models.size() + 1);
  for (const double sum : sums) {
    *own = static_cast<float>((sum + *own) / models);
    ++own;
  }
}

void Predictions::append_lines(std::string& block, const at::Tensor& values, const at::Tensor& others,
                               const std::string& labels) const {
  const bool classes = schema_.kind == TargetKind::classes;
  const at::Tensor best = classes ? predicted_classes(values) : at::Tensor();
  const float* row = values.const_data_ptr<float>();
  const float* other = schema_.others.empty() ? nullptr : others.const_data_ptr<float>();
  const char* label = labels.c_str();
  for (std::int64_t r = 0; r < values.size(0); ++r, row += width_) {
    for (std::size_t i = 0; i < schema_.labels.size(); ++i) {
      const std::string text = label;
      block += csv_cell(text) + ",";
      label += text.size() + 1;
    }
    if (classes) {
      block += csv_cell(classes_[static_cast<std::size_t>(best.const_data_ptr<std::int64_t>()[r])]);
    } else {
      append_numbers(block, row);
    }
    for (std::int64_t i = 0; schema_.kind != TargetKind::numbers && i < width_; ++i) {
      block += ',';
      append_number(block, row[i], /*is_float=*/true);
    }
    for (std::size_t i = 0; i < schema_.others.size(); ++i) {
      block += ',';
      append_number(block, *other++, /*is_float=*/true);
    }
    block += '\n';
  }
}

// Appends the labels column by column.
void Predictions::append_labels(std::string& block, std::int64_t rows, const std::string& labels) const {
  std::vector<std::string> columns(schema_.labels.size());
  const char* label = labels.c_str();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::string& column : columns) {
      const std::size_t bytes = std::strlen(label) + 1;
      column.append(label, bytes);
      label += bytes;
    }
  }
  for (const std::string& column : columns) {
    block += column;
    block.resize((block.size() + 7) / 8 * 8);
  }
}

void Predictions::append_numbers(std::string& line, const float* row) const {
  for (std::int64_t i = 0; i < width_; ++i) {
    if (i > 0) line += ',';
    if (schema_.kind == TargetKind::binary) {
      line += is_set(row[i]) ? '1' : '0';
    } else if (!writes_scaled()) {
      append_number(line, row[i], /*is_float=*/true);
    } else {
      append_number(line, schema_.scales[static_cast<std::size_t>(i)].undo(row[i]), /*is_float=*/false);
    }
  }
}

void Predictions::append_cells(std::string& block, const at::Tensor& values, const at::Tensor& others,
                               const std::string& labels) const {
  const std::int64_t rows = values.size(0);
  const float* all = values.const_data_ptr<float>();
  const auto value = [&](std::int64_t row, std::int64_t i) { return all[row * width_ + i]; };
  block.append(reinterpret_cast<const char*>(&rows), sizeof rows);
  append_labels(block, rows, labels);
  if (schema_.kind == TargetKind::classes) {
    const at::Tensor best = predicted_classes(values);
    const auto* place = best.const_data_ptr<std::int64_t>();
    const auto name = [&](std::int64_t row) -> const std::string& {
      return classes_[static_cast<std::size_t>(place[row])];
    };
    if (prediction_ == OutputType::text) {
      append_column<std::int32_t>(block, rows, [&](std::int64_t row) { return static_cast<std::int32_t>(place[row]); });
    } else if (prediction_ == OutputType::integer) {
      append_column<std::int64_t>(block, rows, [&](std::int64_t row) { return *text_number<std::int64_t>(name(row)); });
    } else {
      append_column<double>(block, rows, [&](std::int64_t row) { return *text_number<double>(name(row)); });
    }
  }
  for (std::int64_t i = 0; schema_.kind == TargetKind::binary && i < width_; ++i) {
    append_column<std::int64_t>(block, rows, [&](std::int64_t row) { return is_set(value(row, i)) ? 1 : 0; });
  }
  for (std::int64_t i = 0; i < width_; ++i) {
    if (schema_.kind == TargetKind::numbers && writes_scaled()) {
      const datasets::Scale& scale = schema_.scales[static_cast<std::size_t>(i)];
      append_column<double>(block, rows, [&](std::int64_t row) { return scale.undo(value(row, i)); });
    } else {
      append_column<float>(block, rows, [&](std::int64_t row) { return value(row, i); });
    }
  }
  const auto count = std::ssize(schema_.others);
  const float* other = count == 0 ? nullptr : others.const_data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    append_column<float>(block, rows, [&](std::int64_t row) { return other[row * count + i]; });
  }
}

}  // namespace ddp::rank
