#include "train/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>

#include "config/metric.h"
#include "dist/collectives.h"
#include "model/call.h"
#include "train/metrics/merge.h"
#include "train/parts.h"
#include "train/replay/recorded_forward.h"

namespace ddp::train {
namespace {

// One row of numbers for each batch of an evaluation. Rows may differ in length.
using BatchRows = std::vector<std::vector<double>>;

// The rows one after the other, each preceded by its length.
std::vector<double> flattened(const BatchRows& rows) {
  std::vector<double> flat;
  for (const auto& row : rows) {
    flat.push_back(static_cast<double>(row.size()));
    flat.insert(flat.end(), row.begin(), row.end());
  }
  return flat;
}

// Gathers the numbers of each rank. Pads them to the longest, because an all-gather needs the same shape on every rank.
std::vector<at::Tensor> gathered(const dist::Group& group, const std::vector<double>& own) {
  const auto size = static_cast<double>(own.size());
  std::vector<std::int64_t> lengths;
  for (const at::Tensor& length : dist::all_gather(group, at::scalar_tensor(size, at::kDouble))) {
    lengths.push_back(static_cast<std::int64_t>(length.item<double>()));
  }
  const at::Tensor mine = at::zeros({*std::max_element(lengths.begin(), lengths.end())}, at::kDouble);
  std::copy(own.begin(), own.end(), mine.mutable_data_ptr<double>());
  std::vector<at::Tensor> all = dist::all_gather(group, mine);
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = all[r].narrow(0, 0, lengths[r]);
  return all;
}

// Returns the rows of all ranks in the order of batches. `own`: this rank's rows; rank b mod world_size has batch b.
// Collective; the result is the same on every rank.
BatchRows rows_of_all_ranks(const dist::Group& group, const BatchRows& own) {
  const std::vector<at::Tensor> all = gathered(group, flattened(own));
  std::vector<const double*> next;
  std::vector<const double*> ends;
  for (const at::Tensor& of_rank : all) {
    next.push_back(of_rank.const_data_ptr<double>());
    ends.push_back(next.back() + of_rank.numel());
  }
  BatchRows in_order;
  for (std::size_t batch = 0;; ++batch) {
    const std::size_t rank = batch % all.size();
    if (next[rank] == ends[rank]) return in_order;
    const auto size = static_cast<std::ptrdiff_t>(*next[rank]++);
    in_order.emplace_back(next[rank], next[rank] + size);
    next[rank] += size;
  }
}

// The outputs for a batch, and their loss, with the same autocast as in training.
struct Measurement {
  NamedTensors outputs;
  LossSum loss;
};

Measurement measure_loss(const EvaluationParts& e, RecordedForward& forward, const datasets::Batch& batch) {
  const model::Autocast casts(e.numerics.precision, e.device);
  NamedTensors outputs = forward(e.loss.model_inputs(batch, e.numerics, e.device));
  LossSum loss = e.loss.measure(outputs, batch);
  return {.outputs = std::move(outputs), .loss = std::move(loss)};
}

std::int64_t count_nan(const at::Tensor& output) {
  if (model::all_finite(output)) return 0;
  return output.flatten(1).isnan().any(1).sum().item<std::int64_t>();
}

// The numbers of a batch's row before the parts of the metrics: number of samples, total weight of the targets, sum of
// the losses, number of samples with NaN outputs; then the sum of each scalar, and the parts of the metrics.
constexpr std::size_t kBeforeScalars = 4;

// In the place of the row of a batch whose data did not come.
const std::vector<double> kWithoutData{0};

constexpr std::int64_t kMostRoundsOfUrls = 16;  // of an exchange: a failure ends the evaluation soon

// Returns a batch's row. Counts and scores are added to `statistics` and stay there; `curves` gets a row. `begin`: the
// place of the batch's first sample in the set.
std::vector<double> measure(const EvaluationParts& e, RecordedForward& forward, const datasets::Batch& batch,
                            std::int64_t begin, std::vector<Statistics>& statistics, BatchRows& curves) {
  std::vector<double> row(kBeforeScalars + e.scalars.size());
  if (batch.samples() > 0) {  // 0: no image of the batch can be decoded
    const auto [outputs, loss] = measure_loss(e, forward, batch);
    const std::optional<Answers> answers = answers_of(e.loss, outputs, batch.targets, e.measures.given());
    row = {static_cast<double>(loss.samples), loss.weight, loss.sum,
           static_cast<double>(answers ? count_nan(answers->output) : 0)};
    row.insert(row.end(), loss.scalars.begin(), loss.scalars.end());
    row.resize(kBeforeScalars + e.scalars.size());
    e.measures.add(answers, outputs, batch.targets, statistics);
    if (e.curves) {
      curves.push_back(answers ? e.curves->of_batch(answers->output, answers->target, begin) : std::vector<double>());
    }
  } else if (e.curves) {
    curves.emplace_back();
  }
  for (Statistics& one : statistics) Merge::take_parts(one, row);
  return row;
}

// The results of all ranks so far. An exchange carries the rows of several rounds of batches, limited by memory: a
// metric may give one number for each of very many targets. Rows are joined in the order of batches, so the number of
// rounds in an exchange changes no bit.
class GatheredRows {
 public:
  explicit GatheredRows(const EvaluationParts& e) : e_(e), of_batches_(e.measures.metrics().size()) {}

  // Takes this rank's rows of some rounds; a round begins with rank 0's batch. Returns how many rounds the next call
  // may carry. Collective; the result is the same on every rank.
  std::int64_t take(const BatchRows& own) {
    std::size_t longest = 1;
    for (const std::vector<double>& row : rows_of_all_ranks(e_.group, own)) {
      if (row == kWithoutData) {
        lacks_data_ = true;
        continue;
      }
      longest = std::max(longest, row.size());
      const double* next = row.data() + kBeforeScalars;
      loss_.add({.sum = row[2],
                 .weight = row[1],
                 .samples = static_cast<std::int64_t>(row[0]),
                 .scalars = {next, next + e_.scalars.size()}});
      nan_samples_ += static_cast<std::int64_t>(row[3]);
      next += e_.scalars.size();
      for (std::size_t i = 0; i < of_batches_.size(); ++i) {
        Merge::give_parts(next, of_batches_[i]);
        Merge::join_parts(*e_.measures.metrics()[i].metric, of_batches_[i]);
      }
    }
    return std::max<std::int64_t>(1, kHeld / static_cast<std::int64_t>(longest));
  }

  // The means of the loss and of each scalar.
  record::MetricValues means() const {
    record::MetricValues means{{.name = "loss", .value = loss_.mean()}};
    for (std::size_t i = 0; i < loss_.scalars.size(); ++i) {
      means.push_back({.name = e_.scalars[i], .value = loss_.scalars[i] / loss_.weight});
    }
    return means;
  }
  std::int64_t nan_samples() const { return nan_samples_; }
  bool lacks_data() const { return lacks_data_; }
  void give_parts(std::vector<Statistics>& statistics) {
    for (std::size_t i = 0; i < statistics.size(); ++i) Merge::move_parts(of_batches_[i], statistics[i]);
  }

 private:
  static constexpr std::int64_t kHeld = std::int64_t{1} << 18;  // numbers of a rank: 2 MiB in all

  const EvaluationParts& e_;
  std::vector<Statistics> of_batches_;
  LossSum loss_;
  std::int64_t nan_samples_ = 0;
  bool lacks_data_ = false;
};

// Measures the mean loss and scalars, and the number of samples with NaN outputs. A round is one batch of each rank; in
// the last round some ranks may have none.
Measured measure_all(const EvaluationParts& e, std::vector<Statistics>& statistics) {
  Measured measured{.values = {}, .matrices = config::Value::object()};
  data::EvaluationBatches batches(e.set);
  RecordedForward forward([&e](const std::vector<at::Tensor>& inputs) { return model::call(e.model.module(), inputs); },
                          e.records, e.model.buffers(),
                          [&measured](const std::string& reason) { measured.not_replayed = reason; });
  GatheredRows gathered(e);
  // A rank whose data do not come goes on without them up to the next exchange, where the others learn it.
  const auto next_batch = [&]() -> std::optional<datasets::Batch> {
    if (measured.failure) return {};
    try {
      return batches.next();
    } catch (...) {
      if (!e.agrees) throw;
      measured.failure = std::current_exception();
      return {};
    }
  };
  BatchRows rows, curves;
  const std::int64_t rounds = (e.set.batches() + e.set.world_size - 1) / e.set.world_size;
  std::int64_t next_exchange = 1;  // the first exchange shows how long rows are
  for (std::int64_t round = 1; round <= rounds; ++round) {
    if (round <= e.set.own_batches()) {
      const std::int64_t begin = ((round - 1) * e.set.world_size + e.set.rank) * e.set.batch_size;
      const std::optional<datasets::Batch> batch = next_batch();
      rows.push_back(batch ? measure(e, forward, *batch, begin, statistics, curves) : kWithoutData);
      e.batch_done();
    }
    if (round < next_exchange && round < rounds) continue;
    next_exchange = round + std::min(gathered.take(rows), e.agrees ? kMostRoundsOfUrls : rounds);
    rows.clear();
    measured.lacks_data = gathered.lacks_data();
    if (measured.lacks_data) return measured;
  }
  gathered.give_parts(statistics);
  if (e.curves) e.curves->take(rows_of_all_ranks(e.group, curves));
  measured.values = gathered.means();
  measured.nan_samples = gathered.nan_samples();
  return measured;
}

config::Value matrix_of(const std::vector<std::int64_t>& counts) {
  config::Value rows = config::Value::array();
  const auto size = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(counts.size()))));
  for (std::size_t row = 0; row < size; ++row) {
    rows.push_back(std::vector<std::int64_t>(counts.begin() + row * size, counts.begin() + (row + 1) * size));
  }
  return rows;
}

void add_metrics(const Measures& measures, const std::vector<Statistics>& statistics, Measured& measured) {
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    const Measures::Named& one = measures.metrics()[i];
    const bool empty = statistics[i].empty();
    if (one.metric.get() == measures.decider()) {
      measured.scores = statistics[i].parts();
    } else if (one.matrix) {
      if (!empty) measured.matrices[one.name] = matrix_of(statistics[i].counts());
    } else if (measures.given() || !empty) {
      const double value = empty ? std::numeric_limits<double>::quiet_NaN() : one.metric->value(statistics[i]);
      measured.values.push_back({.name = one.name, .value = value});
      if (empty || measures.targets().empty()) continue;
      const std::vector<double> of_targets = one.metric->values_of_targets(statistics[i]);
      for (std::size_t target = 0; target < std::min(of_targets.size(), measures.targets().size()); ++target) {
        measured.values.push_back({.name = one.name + "_" + measures.targets()[target], .value = of_targets[target]});
      }
    }
  }
  if (measured.nan_samples == 0) return;
  // A comparison with NaN is false, which would count as an answer.
  for (record::MetricValue& one : measured.values) one.value = std::numeric_limits<double>::quiet_NaN();
  measured.matrices = config::Value::object();
  measured.scores.clear();
}

}  // namespace

std::string Measured::warning(const std::string& prefix) const {
  const std::string set = prefix == config::kValidationPrefix ? " of the validation set"
                          : prefix == config::kTestPrefix     ? " of the test set"
                                                              : "";
  return "the outputs of " + std::to_string(nan_samples) + (nan_samples == 1 ? " sample" : " samples") + set +
         " are NaN: the metrics have no value";
}

Measured evaluate(const EvaluationParts& e) {
  const at::NoGradGuard no_grad;
  std::vector<Statistics> statistics(e.measures.metrics().size());
  // The model that is saved and used has the buffers of rank 0.
  const std::vector<at::Tensor> own = e.model.take_buffers_of_rank_0();
  auto module = e.model.module().ptr();
  module->eval();
  Measured measured = measure_all(e, statistics);
  module->train();
  for (std::size_t i = 0; i < own.size(); ++i) e.model.buffers()[i].second.copy_(own[i]);
  if (measured.lacks_data) return measured;
  const Merge merge(e.group);
  merge.left_out(statistics);
  merge.counts(statistics);
  merge.rankings(statistics);
  add_metrics(e.measures, statistics, measured);
  // A rank without a batch does not know what the outputs mean; rank 0 has the first batch.
  if (e.curves && e.set.rank == 0)
    measured.curves = e.curves->result(measured.matrices.value("confusion", config::Value()));
  return measured;
}

Measured measure_set(const TrainerParts& p, const Measures& measures, const data::EvaluationSet& set,
                     EvaluationCurves* curves) {
  const record::AsideTimer time(p.recorder, record::Aside::validating);
  record::RunProgress& run = p.shared.run();
  if (p.recorder) {
    run.batches_measured = 0;
    run.batches_to_measure = set.batches();
  }
  Measured measured = evaluate({.model = p.model,
                                .group = p.group,
                                .loss = p.loss,
                                .measures = measures,
                                .scalars = p.loss.scalar_names(*p.model.module().ptr()),
                                .set = set,
                                .device = p.device,
                                .batch_done =
                                    [&] {
                                      p.progress().note_activity();
                                      if (p.recorder) run.batches_measured += set.world_size;
                                    },
                                .numerics = model::Numerics::of(p.experiment),
                                .records = may_record(p.experiment, p.device, *p.model.module().ptr()),
                                .curves = curves,
                                .agrees = p.cache != nullptr});
  if (p.recorder) {
    run.batches_to_measure = 0;
    if (!measured.not_replayed.empty() && run.stop_replaying_forwards(measured.not_replayed)) {
      p.recorder->warn(measured.not_replayed);
    }
  }
  return measured;
}

record::MetricValues recorded(const TrainerParts& p, Measured measured, const std::string& prefix, std::int64_t step) {
  for (record::MetricValue& one : measured.values) one.name.insert(0, prefix);
  if (p.recorder && measured.nan_samples > 0) p.recorder->warn(measured.warning(prefix));
  if (p.recorder && !measured.matrices.empty()) {
    config::Value matrices = config::Value::object();
    for (const auto& [name, rows] : measured.matrices.items()) matrices[prefix + name] = rows;
    p.recorder->matrices(matrices, step);
  }
  return std::move(measured.values);
}

}  // namespace ddp::train
