#include <cmath>

#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

// The counts of a class or label.
struct Outcomes {
  std::int64_t both = 0;  // predicted and right
  std::int64_t predicted = 0;
  std::int64_t there = 0;
};
using OfClasses = std::vector<Outcomes>;

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double precision(const Outcomes& o) { return share(o.both, o.predicted); }
double recall(const Outcomes& o) { return share(o.both, o.there); }
double f1(const Outcomes& o) { return share(2 * o.both, o.predicted + o.there); }

Outcomes sum_of(const OfClasses& all) {
  Outcomes sums;
  for (const Outcomes& one : all) {
    sums.both += one.both;
    sums.predicted += one.predicted;
    sums.there += one.there;
  }
  return sums;
}

template <double (*measure)(const Outcomes&)>
double macro(const OfClasses& all) {
  double sum = 0;
  for (const Outcomes& one : all) sum += measure(one);
  return sum / static_cast<double>(all.size());
}

double f1_micro(const OfClasses& all) { return f1(sum_of(all)); }

// The mean recall of the classes that a target has.
double balanced_accuracy(const OfClasses& all) {
  double sum = 0, classes = 0;
  for (const Outcomes& one : all) {
    sum += recall(one);
    classes += one.there > 0;
  }
  return sum / classes;
}

// Gorodkin 2004: the correlation of predicted and right classes.
double matthews(const OfClasses& all) {
  const Outcomes sums = sum_of(all);
  const auto rows = static_cast<double>(sums.there);
  double together = 0, predicted = 0, there = 0;  // sums over classes of the products of shares
  for (const Outcomes& one : all) {
    const double p = static_cast<double>(one.predicted) / rows, t = static_cast<double>(one.there) / rows;
    together += p * t;
    predicted += p * p;
    there += t * t;
  }
  const double spread = (1 - predicted) * (1 - there);
  return spread <= 0 ? 0 : (static_cast<double>(sums.both) / rows - together) / std::sqrt(spread);
}

// precision_score, recall_score, f1_score (with zero_division=0), balanced_accuracy_score and matthews_corrcoef of
// scikit-learn over all classes of the model. With several labels, each label is a class; a single label has the
// classes 0 and 1, as in scikit-learn. Counts: the Outcomes of each class.
class PerClass final : public Metric {
 public:
  enum class Takes { all, single, binary };  // several labels, too; classes or one label; two classes or one label
  using Measure = double (*)(const OfClasses&);
  PerClass(Measure measure, Takes takes) : measure_(measure), takes_(takes) {}

  std::string refusal(const Scores& batch) const override {
    if (takes_ == Takes::binary && !batch.is_binary()) return "it needs two classes, or one label";
    const bool several = batch.meaning() == OutputMeaning::labels && batch.columns() > 1;
    return takes_ == Takes::single && several ? "it needs classes, or one label" : "";
  }

  void add(const Scores& batch, Statistics& statistics) const override {
    if (batch.meaning() == OutputMeaning::classes) {
      add_classes(batch, statistics.counts(kCounts * batch.columns()));
    } else {
      add_labels(batch, statistics.counts(kCounts * (batch.columns() == 1 ? 2 : batch.columns())));
    }
  }

  double value(const Statistics& all) const override {
    OfClasses of;
    const auto& counts = all.counts();
    for (std::size_t at = 0; at < counts.size(); at += kCounts) {
      of.push_back({.both = counts[at], .predicted = counts[at + 1], .there = counts[at + 2]});
    }
    return measure_(of);
  }

 private:
  static constexpr std::int64_t kCounts = 3;

  static void count(std::int64_t* counts, std::int64_t predicted, std::int64_t right) {
    counts[kCounts * right] += predicted == right;
    ++counts[kCounts * predicted + 1];
    ++counts[kCounts * right + 2];
  }

  // Of two classes the one that is looked for comes last.
  static void add_classes(const Scores& batch, std::int64_t* counts) {
    const auto& predicted = batch.predicted();
    const std::int64_t turned = batch.is_binary() && batch.positive() == 0 ? 1 : 0;
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      count(counts, predicted[row] ^ turned, batch.classes()[row] ^ turned);
    }
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
  const Takes takes_;
};

using Takes = PerClass::Takes;

bool add_per_class(const char* name, const char* doc, PerClass::Measure measure, Takes takes = Takes::all) {
  return metrics().add<config::NoOptions>(
      name, doc, [measure, takes](const config::NoOptions&) { return std::make_unique<PerClass>(measure, takes); },
      {{"direction", "greater"}, {"of", {"classes", "labels"}}});
}

template <double (*measure)(const Outcomes&)>
double of_positive(const OfClasses& all) {
  return measure(all.back());
}

const bool precision_registered = add_per_class(
    "precision", "precision of the positive class of two ([dataset] positive)", of_positive<precision>, Takes::binary);
const bool recall_registered =
    add_per_class("recall", "recall of the positive class of two", of_positive<recall>, Takes::binary);
const bool f1_registered = add_per_class("f1", "F1 of the positive class of two", of_positive<f1>, Takes::binary);
const bool precision_macro_registered =
    add_per_class("precision_macro", "mean precision of the classes", macro<precision>);
const bool recall_macro_registered = add_per_class("recall_macro", "mean recall of the classes", macro<recall>);
const bool f1_macro_registered = add_per_class("f1_macro", "mean F1 of the classes", macro<f1>);
const bool f1_micro_registered = add_per_class("f1_micro", "F1 of the summed counts of all classes", f1_micro);
const bool balanced_accuracy_registered = add_per_class(
    "balanced_accuracy", "mean recall of the classes that a target has", balanced_accuracy, Takes::single);
const bool mcc_registered =
    add_per_class("mcc", "Matthews' correlation coefficient of predicted and right classes", matthews, Takes::single);

}  // namespace
}  // namespace ddp::train
