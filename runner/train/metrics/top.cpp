#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

struct TopOptions {
  std::int64_t n = 5;
  void fields(config::Fields& f) {
    f({.name = "n", .doc = "number of most probable classes that count", .range = config::at_least(1)}, n);
  }
};

// The share of rows whose class is among the n most probable ones. Fewer than n classes then have a higher probability,
// or an equal one and a lower index. Counts: right ones, all.
class Top final : public Metric {
 public:
  explicit Top(std::int64_t n) : n_(n) {}

  std::string refusal(const Scores& batch) const override {
    if (n_ < batch.columns()) return "";
    return "it needs more than " + std::to_string(n_) + " classes, and the model knows " +
           std::to_string(batch.columns());
  }

  void add(const Scores& batch, Statistics& statistics) const override {
    std::int64_t* const counts = statistics.counts(2);
    counts[1] += batch.rows();
    for (const std::int64_t before : batch.before_right()) counts[0] += before < n_;
  }

  double value(const Statistics& all) const override {
    return static_cast<double>(all.counts()[0]) / static_cast<double>(all.counts()[1]);
  }

 private:
  const std::int64_t n_;
};

const bool top_registered =
    metrics().add<TopOptions>("topN", "share of rows whose class is among the N most probable ones: top5",
                              [](const TopOptions& o) { return std::make_unique<Top>(o.n); },
                              {{"direction", "greater"}, {"of", {"classes"}}, {"number", "n"}});

}  // namespace
}  // namespace ddp::train
