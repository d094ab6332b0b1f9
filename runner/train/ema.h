#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "dist/parallel/parallel.h"
#include "model/named_tensors.h"
#include "train/rules/rule.h"

namespace ddp::train {

// The exponential average of the weights: AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay)) of
// torch.optim.swa_utils, bit for bit. Every parameter is averaged once, a frozen one too; one that is not of floating
// point is copied, and so are buffers.
//
// All ranks have the same parameters, so each averages a share of their numbers. The shares are gathered where the
// average is used or saved. A number's average depends on no other number: sharing changes no bit.
class Ema : public Rule {
 public:
  // Begins with the weights that the model has now, as AveragedModel does. `model` outlives it.
  Ema(const config::Ema& options, dist::Parallel& model, dist::Group group);

  // How many updates there were.
  config::Value state() const override;
  void restore(const config::Value& state) override;

  // Updates the average where that is due after `step` steps. The first update copies.
  void step_done(std::int64_t step);

  // Brings all shares to every rank, where they stay until the next update. Collective.
  void gather();
  // Returns the averaged weights and the buffers under the names of Python's state_dict(), of a tied parameter each
  // name. What no gather() has brought since the last update are the model's own: tensors of the same size.
  NamedTensors weights() const;
  // Returns the buffers of the last update, which this rank keeps beside those of the model; none where every step
  // updates.
  NamedTensors own_buffers() const;
  // Takes back what weights() returned. `where` names the source in errors. Throws ddp::Error (training) where it does
  // not fit the model.
  void load(const NamedTensors& weights, const std::string& where);

  // While one lives, the model has the averaged weights, and the buffers of the last update. Collective.
  class InPlace {
   public:
    explicit InPlace(Ema* ema);  // null: the model stays as it is
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    void swap();
    Ema* const ema_;
  };

 private:
  // The numbers of all parameters of one type, as one list of which each rank averages a piece of the same length.
  struct Shared {
    std::vector<std::size_t> members;  // places in parameters_
    std::int64_t numbers = 0;          // of all of them
    at::Tensor share;                  // this rank's; behind the last number of all there are zeros
  };
  // Numbers that follow each other in a parameter's memory, and their average.
  struct Piece {
    at::Tensor average;
    std::size_t member = 0;
    std::int64_t from = 0;
  };

  // Begins to average a parameter whole on this rank.
  void add_whole(std::size_t member);
  // Begins to average the parameters' numbers with the other ranks.
  void share_out(Shared& shared);
  void gather(const Shared& shared);
  // The numbers of a piece, in tensors that lie as the parameters do.
  at::Tensor numbers_of(const Piece& piece, const std::vector<at::Tensor>& tensors) const;
  void copy_from(const std::vector<at::Tensor>& tensors);
  void update_averages();

  const double decay_;
  const std::int64_t every_;
  dist::Parallel& model_;
  const dist::Group group_;
  const std::vector<at::Tensor> parameters_;  // each once
  const std::vector<at::Tensor> buffers_;
  std::vector<Shared> shared_;
  std::vector<Piece> pieces_;
  std::vector<at::Tensor> averages_;     // of each parameter; undefined: shared, and not gathered
  std::vector<at::Tensor> own_buffers_;  // as they were at the last update; none where that is each step
  std::int64_t updates_ = 0;
};

}  // namespace ddp::train
