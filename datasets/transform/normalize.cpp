#include <algorithm>

#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "datasets/transform/arguments.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct NormalizeOptions {
  std::vector<double> mean;
  std::vector<double> std;
  void fields(config::Fields& f) {
    f({.name = "mean", .doc = "value subtracted from each channel, with pixels from 0 to 1", .required = true}, mean);
    f({.name = "std", .doc = "divisor of each channel after the subtraction", .required = true}, std);
  }
};

class Normalize : public FloatTransform {
 public:
  explicit Normalize(const NormalizeOptions& o) : mean_(o.mean), std_(o.std) {
    for (const auto& [name, values] : {std::pair{"mean", mean_}, std::pair{"std", std_}}) {
      if (values.size() != 1 && values.size() != 3) {
        throw usage_error("must have one value for each channel, not " + std::to_string(values.size()), name);
      }
    }
    // Compared as float32, because the division is in float32.
    const auto is_zero = [](double value) { return static_cast<float>(value) == 0; };
    if (std::any_of(std_.begin(), std_.end(), is_zero)) throw usage_error("must not be 0", "std");
  }

  bool pointwise() const override { return true; }

  std::optional<Normalization> normalization() const override {
    Normalization formula;
    for (std::size_t c = 0; c < formula.mean.size(); ++c) {
      formula.mean[c] = static_cast<float>(mean_[c % mean_.size()]);
      formula.std[c] = static_cast<float>(std_[c % std_.size()]);
    }
    return formula;
  }

  void apply(const at::Tensor& image, Draws&, const DrawLog&) const override {
    check_channels(mean_, image.size(0), "mean");
    check_channels(std_, image.size(0), "std");
    image.sub_(at::tensor(mean_, at::kFloat).view({-1, 1, 1})).div_(at::tensor(std_, at::kFloat).view({-1, 1, 1}));
  }

 private:
  const std::vector<double> mean_;
  const std::vector<double> std_;
};

const bool normalize_registered = transforms().add<NormalizeOptions>(
    "Normalize", "(image - mean) / std of each channel; the image is float32 from here on", config::made<Normalize>);

}  // namespace
}  // namespace ddp::datasets
