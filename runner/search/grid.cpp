#include "search/search.h"

namespace ddp::search {
namespace {

constexpr std::size_t kMostTrials = 100000;

struct GridOptions {
  void fields(config::Fields&) {}
};

// Every combination of the values. The last parameter changes fastest.
class Grid : public InOrder {
 public:
  explicit Grid(const Space& space) : space_(space) {
    for (const config::Parameter& parameter : space_.parameters) {
      if (parameter.is_range()) {
        throw usage_error(
            parameter.key + " is a range, but a grid takes lists only\n" + config::excerpt(parameter.place),
            config::where(parameter.place), "give a list, such as [0.1, 0.01], or use method = \"random\"");
      }
      trials_ *= parameter.choices.size();
      if (trials_ > kMostTrials) {
        throw usage_error("the grid has more than " + std::to_string(kMostTrials) + " trials", "sweep.parameters",
                          "give fewer values, or use method = \"random\"");
      }
    }
  }

  int trials() const override { return static_cast<int>(trials_); }
  config::Point point(int trial) const override {
    config::Point point(space_.parameters.size());
    auto rest = static_cast<std::size_t>(trial);
    for (std::size_t i = space_.parameters.size(); i-- > 0;) {
      const auto& choices = space_.parameters[i].choices;
      point[i] = choices[rest % choices.size()];
      rest /= choices.size();
    }
    return point;
  }

 private:
  const Space space_;
  std::size_t trials_ = 1;
};

const bool grid_registered =
    methods().add<GridOptions>("grid", "every combination of the values of the lists",
                               [](const GridOptions&, const Space& space) { return std::make_unique<Grid>(space); });

}  // namespace
}  // namespace ddp::search
