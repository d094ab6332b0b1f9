#include "launch/held/hold.h"

#include <utility>
#include <vector>

#include "config/sizes.h"

namespace ddp::launch {

HeldData hold_data(const RankLibrary& library, const config::Loaded& loaded, Plan& plan, bool one_rank,
                   const DataUse& use) {
  std::vector<record::DataFile> files = record::data_files(plan.experiment);
  HeldData data = one_rank ? HeldData::in_cache(library, plan) : HeldData::in_memory(library, plan, use);
  if (data.facts().empty() && config::leaves_sizes(plan.experiment, plan.experiment.components())) {
    data = HeldData::facts_alone(library, plan);
  }
  fill_sizes(data, loaded, plan);
  data.set_files(std::move(files));
  return data;
}

void fill_sizes(const HeldData& data, const config::Loaded& loaded, Plan& plan) {
  if (data.facts().empty()) return;
  config::fill_sizes(plan.experiment, loaded, plan.experiment.components(), data.facts());
}

}  // namespace ddp::launch
