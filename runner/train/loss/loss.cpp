#include "train/loss/loss.h"

namespace ddp::train {

LossRegistry& losses() {
  static LossRegistry instance("loss");
  return instance;
}

}  // namespace ddp::train
