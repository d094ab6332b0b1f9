#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

// The counts of a class or label.
struct Outcomes {
  std::int64_t both;  // predicted and right
  std::int64_t predicted;
  std::int64_t there;
};

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double precision(const Outcomes& o) { return share(o.both, o.predicted); }
double recall(const Outcomes& o) { return share(o.both, o.there); }
double f1(const Outcomes& o) { return share(2 * o.both, o.predicted + o.there); }

// precision_score, recall_score and f1_score of scikit-learn with zero_division=0 and all classes of the model. With
// several labels, each label is a class; a single label has the classes 0 and 1, as in scikit-learn. Counts: the
// Outcomes of each class.
class PerClass final : public Metric {
 public:
  using Measure = double (*)(const Outcomes&);
  // `together`: measures once from the sums over all classes (micro); else averages the values of the classes (macro).
  PerClass(Measure measure, bool together) : measure_(measure), together_(together) {}

  void add(const Scores& batch, Statistics& statistics) const override {
    if (batch.meaning() == OutputMeaning::classes) {
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
  return metrics().add<config::NoOptions>(
      name, doc,
      [measure, together](const config::NoOptions&) { return std::make_unique<PerClass>(measure, together); },
      {{"direction", "greater"}, {"of", {"classes", "labels"}}});
}

const bool precision_macro_registered = add_per_class("precision_macro", "mean precision of the classes", precision);
const bool recall_macro_registered = add_per_class("recall_macro", "mean recall of the classes", recall);
const bool f1_macro_registered = add_per_class("f1_macro", "mean F1 of the classes", f1);
const bool f1_micro_registered = add_per_class("f1_micro", "F1 of the summed counts of all classes", f1, true);

}  // namespace
}  // namespace ddp::train
