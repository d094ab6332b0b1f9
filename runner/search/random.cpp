#include "search/search.h"

namespace ddp::search {
namespace {

struct RandomOptions {
  std::int64_t trials = 10;
  std::int64_t seed = 0;
  void fields(config::Fields& f) {
    f({.name = "trials",
       .doc = "number of trials",
       .aliases = {"n_trials", "num_samples"},
       .range = config::between(1, 100000)},
      trials);
    f({.name = "seed", .doc = "seed of the drawn values", .range = config::at_least(0)}, seed);
  }
};

class Random : public InOrder {
 public:
  Random(const RandomOptions& options, const Space& space) : options_(options), space_(space) {}

  int trials() const override { return static_cast<int>(options_.trials); }
  config::Point point(int trial) const override { return draw(space_, options_.seed, trial); }

 private:
  const RandomOptions options_;
  const Space space_;
};

const bool random_registered = methods().add<RandomOptions>(
    "random", "values drawn from lists and ranges",
    [](const RandomOptions& o, const Space& space) { return std::make_unique<Random>(o, space); });

}  // namespace
}  // namespace ddp::search
