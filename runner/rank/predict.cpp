#include "rank/predict.h"

#include <algorithm>
#include <set>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/util/StringUtil.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "model/call.h"
#include "model/numerics.h"
#include "rank/predictions.h"
#include "rank/process.h"
#include "rank/verbs.h"
#include "record/saves/data_files.h"
#include "train/replay/recorded_forward.h"

namespace ddp::rank {
namespace {

std::vector<std::int64_t> with_rows(std::int64_t rows, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> whole{rows};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return whole;
}

// The blocks of rows that a rank receives, and the model that predicts them.
class Answering {
 public:
  Answering(const PredictRequest& request, const Task& t)
      : r_(request),
        t_(t),
        device_(first_device(t)),
        saved_(checkpoint::load(t.resume_from)),
        model_(build_parallel(t, nullptr, &saved_, request.raw)),
        forward_(
            [this](const std::vector<at::Tensor>& inputs) {
              model::Prediction predicted = model::predict(model_->module(), inputs);
              NamedTensors outputs{{predicted.is_logits ? model::kLogits : "output", predicted.output}};
              for (auto& other : predicted.others) outputs.push_back(std::move(other));
              return outputs;
            },
            train::may_record(*t.experiment, device_, *model_->module().ptr()), model_->buffers(),
            [&t](const std::string& reason) {
              if (t.rank == 0) log::warn(reason);
            }) {
    model_->module().ptr()->eval();
    std::string text;
    read_block(static_cast<int>(r_.from), text);
    rows_ = config::read_written<DealtRows>(config::Value::parse(text));
    blocks_.resize(rows_.inputs.size());
    const auto* several = dynamic_cast<const model::GivesOutputs*>(model_->module().ptr().get());
    if (several == nullptr) return;
    order_ = model::order_of(train::names_of(t_.experiment->dataset, "inputs"), several->argument_names());
  }

  // Tells whether the outputs are scores of classes, of a loss that a graph computes: "logits" for an integer target.
  bool answers_classes() const {
    const train::Loss loss = train::losses().build(t_.experiment->loss.name, t_.experiment->loss.with_copies());
    if (loss.graph() == nullptr || !is_logits_) return false;
    const auto* several = dynamic_cast<const model::GivesOutputs*>(model_->module().ptr().get());
    const auto type = loss.graph()->is_of_model
                          ? (several == nullptr ? std::nullopt : several->target_type(rows_.inputs.size()))
                          : loss.graph()->target_type(several == nullptr ? 1 : several->output_names().size());
    return type == at::kLong;
  }

  // Returns the output for one row of zeros, which shows the output's shape even if the input has no rows. Throws
  // ddp::Error (usage) if the model does not accept rows of this shape.
  at::Tensor look() {
    const auto zeros = [&](std::int64_t rows) {
      std::vector<at::Tensor> inputs;
      for (const auto& input : rows_.inputs) {
        inputs.push_back(at::zeros(with_rows(rows, input.shape), static_cast<at::ScalarType>(input.type)).to(device_));
      }
      return inputs;
    };
    std::string shapes;
    for (const auto& input : rows_.inputs) {
      shapes += (shapes.empty() ? "" : " and ") + c10::str(at::IntArrayRef(input.shape)) + " of " +
                c10::toString(static_cast<at::ScalarType>(input.type));
    }
    try {
      const NamedTensors looked = answer(zeros(1));
      if (looked.size() > 1) name_others(looked, answer(zeros(2)));
      const at::Tensor& main = looked.front().second;
      if (main.dim() > 0) row_shape_ = main.sizes().slice(1).vec();
      return main;
    } catch (const Error& error) {
      throw usage_error("has rows of shape " + shapes + ": " + error.summary(), rows_.file, error.remedy());
    } catch (const c10::Error& error) {
      throw usage_error("has rows of shape " + shapes + ", which the model \"" + t_.experiment->model.name +
                            "\" does not accept: " + error.msg(),
                        rows_.file, "give rows of the shape that the model was trained on");
    }
  }

  // Reads the next block of rows. Returns false at the end.
  bool next() {
    if (!read_block(static_cast<int>(r_.from), blocks_.front())) return false;
    for (std::size_t i = 1; i < blocks_.size(); ++i) read_block(static_cast<int>(r_.from), blocks_[i]);
    if (!rows_.labels.empty()) read_block(static_cast<int>(r_.from), labels_);
    first_row_ = (r_.ranks * turn_++ + t_.rank) * rows_.block_rows;
    return true;
  }

  // Of the block in the whole input.
  std::int64_t first_row() const { return first_row_; }
  // The names of the columns of labels.
  const std::vector<std::string>& label_names() const { return rows_.labels; }
  // The labels of the block's rows, row by row, each followed by a zero byte.
  const std::string& labels() const { return labels_; }

  // The columns of further outputs. Only after look().
  const std::vector<std::string>& columns_of_others() const { return columns_of_others_; }

  // Returns the outputs for the rows of the block: the main one, and float32 [n, columns of others]: undefined without.
  std::pair<at::Tensor, at::Tensor> outputs() {
    std::vector<at::Tensor> inputs;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto type = static_cast<at::ScalarType>(rows_.inputs[i].type);
      std::int64_t values = 1;
      for (const std::int64_t extent : rows_.inputs[i].shape) values *= extent;
      const auto rows = static_cast<std::int64_t>(blocks_[i].size() / c10::elementSize(type)) / values;
      inputs.push_back(at::from_blob(blocks_[i].data(), with_rows(rows, rows_.inputs[i].shape), type));
    }
    const std::int64_t rows = inputs.front().size(0);
    std::vector<at::Tensor> parts, others;
    for (std::int64_t first = 0; first < rows; first += r_.batch_size) {
      const std::int64_t count = std::min(r_.batch_size, rows - first);
      const NamedTensors outputs = forward(inputs, first, count);
      parts.push_back(outputs.front().second);
      std::vector<at::Tensor> columns;
      for (const auto& [name, output] : outputs) {
        if (others_.contains(name)) columns.push_back(output.reshape({count, -1}).to(at::kCPU, at::kFloat));
      }
      if (!columns.empty()) others.push_back(at::cat(columns, 1));
    }
    return {parts.size() == 1 ? parts.front() : at::cat(parts), others.empty() ? at::Tensor() : at::cat(others)};
  }

 private:
  // Takes the outputs behind the main one of one row and of two: those whose columns do not depend on the rows.
  void name_others(const NamedTensors& of_one, const NamedTensors& of_two) {
    for (std::size_t i = 1; i < of_one.size(); ++i) {
      const auto& [name, output] = of_one[i];
      const std::int64_t columns = output.numel();
      if (of_two.at(i).second.numel() != 2 * columns) continue;
      others_.insert(name);
      for (std::int64_t k = 0; k < columns; ++k) {
        columns_of_others_.push_back("output_" + name + (columns == 1 ? "" : "_" + std::to_string(k)));
      }
    }
  }

  // Computes outputs as in evaluation, but converts 16-bit types to float32, the type of the output files.
  NamedTensors answer(const std::vector<at::Tensor>& inputs) {
    const model::Autocast casts(numerics_.precision, device_);
    NamedTensors outputs = forward_(numerics_.prepared(model::in_order(order_, inputs)));
    auto& [name, output] = outputs.front();
    is_logits_ = name == model::kLogits;
    if (output.is_floating_point() && output.element_size() < 4) output = output.to(at::kFloat);
    return outputs;
  }

  NamedTensors forward(const std::vector<at::Tensor>& all, std::int64_t first, std::int64_t count) {
    std::vector<at::Tensor> batch;
    // The clone is aligned like a training batch.
    for (const at::Tensor& input : all) batch.push_back(input.narrow(0, first, count).clone().to(device_));
    try {
      NamedTensors outputs = answer(batch);
      const at::Tensor& output = outputs.front().second;
      if (output.sizes() != with_rows(count, row_shape_)) {
        throw usage_error(
            "gives outputs of shape " + c10::str(output.sizes()) + " for " + std::to_string(count) +
                " rows, but of shape " + c10::str(at::IntArrayRef(with_rows(1, row_shape_))) + " for one row",
            "the model", "the first dimension of outputs must be the rows, and no other may depend on them");
      }
      return outputs;
    } catch (const c10::IndexError& error) {
      const std::int64_t row = first_row_ + first;
      throw usage_error("the model does not accept these rows: " + error.msg(),
                        "rows " + std::to_string(row) + " to " + std::to_string(row + count - 1) + " of the input",
                        "rows are counted from 0");
    }
  }

  const PredictRequest& r_;
  const Task& t_;
  const c10::Device device_;
  const model::Numerics numerics_ = model::Numerics::of(*t_.experiment);
  const checkpoint::Checkpoint saved_;
  const std::unique_ptr<dist::Parallel> model_;
  train::RecordedForward forward_;
  DealtRows rows_;
  model::ArgumentOrder order_;  // of the model's inputs
  bool is_logits_ = false;
  std::set<std::string> others_;  // further outputs that are written
  std::vector<std::string> columns_of_others_;
  std::vector<std::int64_t> row_shape_;  // of an output
  std::vector<std::string> blocks_;      // one for each input
  std::string labels_;
  std::int64_t turn_ = 0;
  std::int64_t first_row_ = 0;  // first row of the block in the whole input
};

void predict(const PredictRequest& request, const Task& t, const TakeReply&) {
  prepare_process(t);
  const at::NoGradGuard no_grad;
  Answering answering(request, t);
  const at::Tensor looked = answering.look();
  PredictionSchema schema = schema_of(t, answering.label_names());
  if (!schema.of_table && answering.answers_classes()) schema.kind = datasets::TargetKind::classes;
  if (request.other_models.empty()) schema.others = answering.columns_of_others();
  schema.other_models = request.other_models;
  if (request.decides && t.experiment->decide.on()) {
    schema.decision = config::read_written<train::Decision>(record::decision_of(t.resume_from));
    if (request.threshold) schema.decision.threshold = request.threshold;
  }
  const Predictions predictions(std::move(schema), form_named(request.form), looked);
  const auto to = static_cast<int>(request.to);
  // The header waits for the first rows: input that is refused leaves no output.
  bool more = answering.next();
  if (t.rank == 0) {
    const std::string head = predictions.head();
    write_block(to, head.data(), head.size());
  }
  for (std::string answers; more; more = answering.next()) {
    answers.clear();
    const auto [outputs, others] = answering.outputs();
    if (!model::all_finite(outputs)) {
      const at::Tensor sound = outputs.flatten(1).isfinite().all(1);
      t.progress->rank(t.rank).not_finite_rows += outputs.size(0) - sound.sum().item<std::int64_t>();
    }
    predictions.append(answers, answering.first_row(), outputs, others, answering.labels());
    write_block(to, answers.data(), answers.size());
    t.progress->rank(t.rank).note_activity();
  }
  end_blocks(to);
}

const bool predict_registered =
    verbs().add<PredictRequest>(PredictRequest::kVerb, "predicts the rows of a rank", predict);

}  // namespace
}  // namespace ddp::rank
