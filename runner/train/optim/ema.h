#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "dist/parallel/parallel.h"
#include "model/named_tensors.h"
#include "train/rules.h"

namespace ddp::train {

// The exponential average of the weights: AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay)) of
// torch.optim.swa_utils, bit for bit. Every parameter is averaged once, even if it is frozen. Parameters that are not
// floating point, and buffers, are copied.
//
// All ranks have the same parameters, so each averages a share of their numbers. The shares are gathered before the
// average is used or saved. Sharing changes no bit, because each number is averaged independently.
class Ema : public Rule {
 public:
  // Starts from the current weights of the model, as AveragedModel does. `model` outlives it.
  Ema(const config::Ema& options, dist::Parallel& model, dist::Group group);

  // The number of updates so far.
  config::Value state() const override;
  void restore(const config::Value& state) override;

  // Updates the average if an update is due after `step` steps. The first update copies.
  void step_done(std::int64_t step);

  // Gathers all shares on every rank, which keeps them until the next update. Collective.
  void gather();
  // Returns the averaged weights and the buffers under the names of Python's state_dict(), a tied parameter under each
  // of its names. An average that was not gathered since the last update is replaced by the model's own parameter,
  // which has the same size.
  NamedTensors weights() const;
  // Returns the buffers of the last update, which this rank keeps beside the model's buffers; empty if every step
  // updates.
  NamedTensors own_buffers() const;
  // Loads the result of weights(). Errors name the source `where`. Throws ddp::Error (training) if the weights do not
  // fit the model.
  void load(const NamedTensors& weights, const std::string& where);

  // Gives the model the averaged weights and the buffers of the last update during its lifetime. Collective.
  class InPlace {
   public:
    explicit InPlace(Ema* ema);  // null: the model is not changed
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    void swap();
    Ema* const ema_;
  };

 private:
  // The average of a parameter.
  struct Average {
    at::Tensor whole;     // undefined: not gathered
    at::Tensor own;       // what this rank averages, in memory order: its share, or all numbers of `whole`
    bool shared = false;  // by the ranks
  };

  // The numbers of a tensor of the parameter's size that belong to `own`.
  at::Tensor own_numbers(const Average& average, const at::Tensor& tensor) const;
  void copy_from(const std::vector<at::Tensor>& tensors);
  void update_averages();

  const double decay_;
  const std::int64_t every_;
  dist::Parallel& model_;
  const dist::Group group_;
  const std::vector<at::Tensor> parameters_;  // tied ones once
  const std::vector<at::Tensor> buffers_;
  std::vector<Average> averages_;        // of each parameter
  std::vector<at::Tensor> own_buffers_;  // at the last update; empty if every step updates
  std::int64_t updates_ = 0;
};

}  // namespace ddp::train
