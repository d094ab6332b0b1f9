#include "search/search.h"

namespace ddp::search {
namespace {

struct RandomOptions : DrawOptions {
  RandomOptions() : DrawOptions{.trials = 10} {}
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
