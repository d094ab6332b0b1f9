#include "datasets/dataset.h"

#include "base/error.h"

namespace ddp::datasets {

at::Tensor MapDataset::groups(const std::string& column) const {
  throw usage_error("has no column \"" + column + "\": only tables have columns", "dataset");
}

Registry& registry() {
  static Registry all("dataset");
  return all;
}

}  // namespace ddp::datasets
