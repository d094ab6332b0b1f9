#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

struct PerClassOptions {
  void fields(config::Fields&) {}
};

// What is counted of a class, or of a label.
struct Outcomes {
  std::int64_t both;  // predicted, and right
  std::int64_t predicted;
  std::int64_t there;
};

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double precision(const Outcomes& o) { return share(o.both, o.predicted); }
double recall(const Outcomes& o) { return share(o.both, o.there); }
double f1(const Outcomes& o) { return share(2 * o.both, o.predicted + o.there); }

// precision_score, recall_score and f1_score of scikit-learn with zero_division=0 and all classes that the model knows.
// Of several labels a label takes the place of a class; one label alone has the classes 0 and 1, as there.
// Counts: the Outcomes of each class.
class PerClass final : public Metric {
 public:
  using Measure = double (*)(const Outcomes&);
  // `together`: measured once, of the sums over all classes (micro); else the mean of the classes' values (macro).
  PerClass(Measure measure, bool together) : measure_(measure), together_(together) {}

  void add(const Scores& batch, Statistics& statistics) const override {
    if (batch.meaning() == Meaning::classes) {
      add_classes(batch, statistics.counts(kCounts * batch.columns()));
    } else {
      add_labels(batch, statistics.counts(kCounts * (batch.columns() == 1 ? 2 : batch.columns())));
    }
  }

  double value(const Statistics& all) const override {
    Outcomes sums{};
    double sum = 0;
    const auto& counts = all.counts();
    for (std::size_t at = 0; at < counts.size(); at += kCounts) {
      const Outcomes one{.both = counts[at], .predicted = counts[at + 1], .there = counts[at + 2]};
      sums.both += one.both;
      sums.predicted += one.predicted;
      sums.there += one.there;
      sum += measure_(one);
    }
    return together_ ? measure_(sums) : sum / (static_cast<double>(counts.size()) / kCounts);
  }

 private:
  static constexpr std::int64_t kCounts = 3;

  static void count(std::int64_t* counts, std::int64_t predicted, std::int64_t right) {
    counts[kCounts * right] += predicted == right;
    ++counts[kCounts * predicted + 1];
    ++counts[kCounts * right + 2];
  }

  static void add_classes(const Scores& batch, std::int64_t* counts) {
    const auto& predicted = batch.predicted();
    for (std::int64_t row = 0; row < batch.rows(); ++row) count(counts, predicted[row], batch.classes()[row]);
  }

  static void add_labels(const Scores& batch, std::int64_t* counts) {
    const double* const probabilities = batch.probabilities();
    for (std::int64_t i = 0; i < batch.rows() * batch.columns(); ++i) {
      const bool predicted = probabilities[i] > 0.5;
      const bool there = batch.targets()[i] > 0.5;
      if (batch.columns() == 1) {
        count(counts, predicted ? 1 : 0, there ? 1 : 0);
        continue;
      }
      std::int64_t* const of_label = counts + kCounts * (i % batch.columns());
      of_label[0] += predicted && there;
      of_label[1] += predicted;
      of_label[2] += there;
    }
  }

  const Measure measure_;
  const bool together_;
};

bool add_per_class(const char* name, const char* doc, PerClass::Measure measure, bool together = false) {
  return metrics().add<PerClassOptions>(
      name, doc, [measure, together](const PerClassOptions&) { return std::make_unique<PerClass>(measure, together); },
      {{"direction", "greater"}, {"of", {"classes", "labels"}}});
}

const bool precision_macro_registered = add_per_class("precision_macro", "precision, the mean over classes", precision);
const bool recall_macro_registered = add_per_class("recall_macro", "recall, the mean over classes", recall);
const bool f1_macro_registered = add_per_class("f1_macro", "F1, the mean over classes", f1);
const bool f1_micro_registered = add_per_class("f1_micro", "F1 of the counts of all classes together", f1, true);

}  // namespace
}  // namespace ddp::train
