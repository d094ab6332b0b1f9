#include "rank/data.h"

#include <ATen/ops/index_select.h>

#include "base/error.h"
#include "format/safetensors.h"
#include "rank/process.h"

namespace ddp::rank {
std::optional<data::EvaluationSet> evaluation_of(const Task& t, const data::Set& set, const config::HeldOut& options) {
  if (!set.dataset) return {};
  const config::Experiment& e = *t.experiment;
  return data::EvaluationSet{.dataset = set.map(),
                             .samples = set.samples,
                             .batch_size = options.batch_size.value_or(*e.batch_size),
                             .rank = t.rank,
                             .world_size = t.world_size,
                             .workers = e.loader.workers};
}

data::Sets build_sets(const Task& t, bool whole) {
  const NamedTensors held = t.held_data.empty() ? NamedTensors() : format::map_safetensors(t.held_data);
  if (whole) return data::build_whole(*t.experiment, t.rank, t.world_size, held, t.preprocessing);
  return data::build_sets(*t.experiment, t.rank, t.world_size, held, t.preprocessing);
}

bool require_targets(const train::CheckTargets& check, const datasets::MapDataset& dataset, const at::Tensor& samples) {
  if (dataset.check_targets(check)) return true;
  const at::Tensor all = dataset.classes();
  if (!all.defined()) return false;
  const at::Tensor classes = all.index_select(0, samples);
  try {
    check(classes.masked_select(classes.ne(datasets::kNoClass)));
  } catch (const Error& error) {
    throw usage_error(error.summary(), "model", error.remedy());
  }
  return false;
}

Data build_data(const Task& t) {
  const config::Experiment& e = *t.experiment;
  Data d{.sets = build_sets(t), .batches = {}, .validation = {}, .test = {}};
  d.batches = data::make_batches(*d.sets.train.dataset, d.sets.train.samples,
                                 {.rank = t.rank,
                                  .world_size = t.world_size,
                                  .batch_size = *e.batch_size,
                                  .pin_memory = first_device(t).is_cuda(),
                                  .accumulate = e.accumulate},
                                 e.loader);
  d.validation = evaluation_of(t, d.sets.validation, e.validation);
  d.test = evaluation_of(t, d.sets.test, e.test);
  return d;
}

}  // namespace ddp::rank
