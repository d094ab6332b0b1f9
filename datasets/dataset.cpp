#include "datasets/dataset.h"

namespace ddp::datasets {

Registry& registry() {
  static Registry instance("dataset");
  return instance;
}

}  // namespace ddp::datasets
