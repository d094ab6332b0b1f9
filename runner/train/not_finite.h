#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "config/experiment.h"
#include "datasets/dataset.h"
#include "model/named_tensors.h"
#include "train/step_exchange.h"

namespace ddp::train {

// The largest numbers of a micro-batch; inf or NaN if it holds one.
struct LargestNumbers {
  double input = 0;
  double target = 0;
  std::string not_finite = {};  // describes the first tensor that holds inf or NaN; "": none does
};
LargestNumbers largest_of(const std::vector<at::Tensor>& inputs, const datasets::Batch& batch);

// Returns the error of a run that ends after a step with a loss or a gradient that is not finite. `largest`: of the
// rank's micro-batch; `parameters`: their names.
Error step_not_finite(const config::Experiment& experiment, std::int64_t step, const NotFinite& found,
                      const LargestNumbers& largest, const NamedTensors& parameters);

// Returns the error of a run whose updates made a number of its state infinite or NaN. `name`: of that tensor.
Error state_not_finite(const config::Experiment& experiment, std::int64_t step, const std::string& name,
                       const LargestNumbers& largest);

// Returns what to say of a run whose skipped steps left the weights unchanged, because a loss or a gradient was not
// finite.
Error steps_skipped(const config::Experiment& experiment, std::int64_t steps, std::int64_t skipped);

}  // namespace ddp::train
