#include "train/evaluation_curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "datasets/histogram.h"
#include "train/loss/loss.h"

namespace ddp::train {
namespace {

using config::Value;

constexpr std::int64_t kMostTaken = std::int64_t{1} << 22;
constexpr std::size_t kMostPoints = 512;
constexpr std::size_t kMostRows = 2000;
constexpr std::size_t kWorst = 10;
constexpr std::int64_t kMostConfused = 200;
constexpr std::int64_t kMostTargets = 16;  // numbers of a sample

// The numbers of a record of classes or of one label.
enum Place : std::size_t { kSample, kTarget, kPredicted, kOfTarget, kOfPositive, kClassWidth };

// Returns at most `most` of the indices 0 … count - 1, spread evenly, with both ends.
std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  std::vector<std::size_t> all(std::min(count, most));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = count <= most ? i : i * (count - 1) / (most - 1);
  return all;
}

Value list_of(const std::vector<double>& values, const std::vector<std::size_t>& places) {
  Value list = Value::array();
  for (const std::size_t place : places) list.push_back(values[place]);
  return list;
}

// Counts of the samples whose score is at least a threshold, for each distinct threshold from the greatest.
struct Thresholds {
  std::vector<double> right, wrong;  // positive and negative samples
};

// `scored`: the score of each sample, and whether it is positive.
Thresholds thresholds_of(std::vector<std::pair<double, bool>> scored) {
  std::sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  Thresholds found;
  double right = 0, wrong = 0;
  for (std::size_t i = 0; i < scored.size(); ++i) {
    (scored[i].second ? right : wrong) += 1;
    if (i + 1 < scored.size() && scored[i + 1].first == scored[i].first) continue;
    found.right.push_back(right);
    found.wrong.push_back(wrong);
  }
  return found;
}

// roc_curve and precision_recall_curve of scikit-learn, without thresholds. Adds nothing if a class is absent.
void add_curves(Value& to, const Thresholds& at) {
  const double positives = at.right.back(), negatives = at.wrong.back();
  if (positives == 0 || negatives == 0) return;
  std::vector<double> fpr{0}, tpr{0}, precision, recall;
  for (std::size_t i = 0; i < at.right.size(); ++i) {
    fpr.push_back(at.wrong[i] / negatives);
    tpr.push_back(at.right[i] / positives);
  }
  for (std::size_t i = at.right.size(); i-- > 0;) {
    precision.push_back(at.right[i] / (at.right[i] + at.wrong[i]));
    recall.push_back(at.right[i] / positives);
  }
  precision.push_back(1);
  recall.push_back(0);
  const std::vector<std::size_t> places = spread(fpr.size(), kMostPoints);
  to["roc"] = {{"fpr", list_of(fpr, places)}, {"tpr", list_of(tpr, places)}};
  to["pr"] = {{"precision", list_of(precision, places)}, {"recall", list_of(recall, places)}};
}

// The edges and counts of numpy.histogram.
Value histogram_of(const std::vector<double>& values) {
  datasets::Histogram histogram;
  for (const double value : values) histogram.widen(value);
  for (const double value : values) histogram.add(value);
  const Value found = histogram.to_json();
  const double low = found["least"], high = found["greatest"];
  std::vector<double> edges;
  const auto bins = static_cast<double>(found["bins"].size());
  for (double i = 0; i <= bins; ++i) edges.push_back(low + (high - low) * i / bins);
  return {{"bins", std::move(edges)}, {"counts", found["bins"]}};
}

// Tells whether each sample has one class, or few numbers, as its target.
bool fits(const at::Tensor& target) {
  return target.dim() == 1 || (target.dim() == 2 && target.size(1) <= kMostTargets && target.is_floating_point());
}

}  // namespace

Value calibration_curve(const std::vector<std::pair<double, bool>>& scored) {
  std::vector<double> predicted(kCalibrationBins), positive(kCalibrationBins);
  std::vector<std::int64_t> count(kCalibrationBins);
  for (const auto& [score, is_positive] : scored) {
    const std::size_t bin = calibration_bin(score);
    predicted[bin] += score;
    positive[bin] += is_positive;
    ++count[bin];
  }
  Value means = Value::array(), fractions = Value::array();
  for (std::size_t i = 0; i < kCalibrationBins; ++i) {
    const auto all = static_cast<double>(count[i]);
    means.push_back(count[i] > 0 ? Value(predicted[i] / all) : Value());
    fractions.push_back(count[i] > 0 ? Value(positive[i] / all) : Value());
  }
  return {{"mean_predicted", std::move(means)}, {"fraction", std::move(fractions)}, {"count", count}};
}

EvaluationCurves::EvaluationCurves(const data::EvaluationSet& set, const Measures& measures)
    : set_(set), measures_(measures), every_((set.samples.size(0) + kMostTaken - 1) / kMostTaken) {}

bool EvaluationCurves::any() const {
  const datasets::Batch first = set_.dataset->gather(set_.samples.narrow(0, 0, 1), /*epoch=*/0);
  if (first.samples() == 0) return true;  // the image does not decode
  return first.targets.size() == 1 && fits(first.targets.front().second);
}

std::vector<double> EvaluationCurves::of_batch(const at::Tensor& output, const at::Tensor& target, std::int64_t begin) {
  const std::int64_t samples = std::min(set_.batch_size, set_.samples.size(0) - begin);
  // Without the images that do not decode, no row of the batch knows its sample.
  if (!fits(target) || output.dim() > 2 || output.size(0) != samples) return {};
  std::vector<double> records;
  std::int64_t row = 0;
  measures_.for_each_part(output, target, [&](const Scores& scores) {
    meaning_ = scores.meaning();
    columns_ = scores.columns();
    positive_ = scores.is_binary() && columns_ == 2 ? scores.positive() : 1;
    const bool of_classes = meaning_ == OutputMeaning::classes;
    for (std::int64_t r = 0; r < scores.rows(); ++r, ++row) {
      if ((begin + row) % every_ != 0) continue;
      records.push_back(static_cast<double>(begin + row));
      if (of_classes) {
        const std::int64_t right = scores.classes()[r];
        const double* const p = scores.probabilities() + r * columns_;
        records.insert(records.end(), {static_cast<double>(right),
                                       static_cast<double>(scores.predicted()[static_cast<std::size_t>(r)]), p[right],
                                       columns_ == 2 ? p[positive_] : 0});
      } else if (meaning_ == OutputMeaning::labels) {
        const double p = scores.probabilities()[r * columns_];
        const bool set = scores.targets()[r * columns_] > 0.5;
        records.insert(records.end(), {set ? 1.0 : 0.0, p > 0.5 ? 1.0 : 0.0, set ? p : 1 - p, p});
      } else {
        records.insert(records.end(), scores.targets() + r * columns_, scores.targets() + (r + 1) * columns_);
        records.insert(records.end(), scores.outputs() + r * columns_, scores.outputs() + (r + 1) * columns_);
      }
    }
  });
  const bool several_labels = meaning_ == OutputMeaning::labels && columns_ > 1;
  // The same without the targets that do not count.
  if (row != samples || several_labels || meaning_ == OutputMeaning::other) records.clear();
  if (meaning_ == OutputMeaning::numbers) width_ = 1 + 2 * static_cast<std::size_t>(columns_);
  if (meaning_ == OutputMeaning::classes || meaning_ == OutputMeaning::labels) width_ = kClassWidth;
  return records;
}

void EvaluationCurves::take(const std::vector<std::vector<double>>& batches) {
  for (const std::vector<double>& batch : batches) {
    const bool finite = std::all_of(batch.begin(), batch.end(), [](double number) { return std::isfinite(number); });
    if (finite) records_.insert(records_.end(), batch.begin(), batch.end());
  }
}

Value EvaluationCurves::result(const Value& confusion) const {
  Value found = {{"samples", set_.samples.size(0)}};
  if (every_ > 1) found["every"] = every_;
  if (!records_.empty() && width_ > 0) meaning_ == OutputMeaning::numbers ? add_numbers(found) : add_classes(found);
  if (!found.contains("confusion") && confusion.is_array() &&
      static_cast<std::int64_t>(confusion.size()) <= kMostConfused)
    found["confusion"] = confusion;
  return found;
}

void EvaluationCurves::add_classes(Value& to) const {
  const std::int64_t classes = meaning_ == OutputMeaning::labels ? 2 : columns_;
  const auto place = [](double number) { return static_cast<std::size_t>(number); };
  std::vector<std::vector<std::int64_t>> confusion;
  if (classes <= kMostConfused)
    confusion.assign(static_cast<std::size_t>(classes), std::vector<std::int64_t>(static_cast<std::size_t>(classes)));
  std::vector<std::pair<double, bool>> scored;
  std::vector<Record> wrong;
  for (Record record = records_.data(); record < records_.data() + records_.size(); record += width_) {
    if (!confusion.empty()) ++confusion[place(record[kTarget])][place(record[kPredicted])];
    if (classes == 2)
      scored.emplace_back(record[kOfPositive], place(record[kTarget]) == static_cast<std::size_t>(positive_));
    if (record[kTarget] != record[kPredicted]) wrong.push_back(record);
  }
  if (!confusion.empty()) {
    Value names = Value::array();
    const bool named = meaning_ == OutputMeaning::classes;
    for (std::int64_t c = 0; c < classes; ++c) names.push_back(named ? measures_.class_name(c) : std::to_string(c));
    to["classes"] = std::move(names);
    to["confusion"] = std::move(confusion);
  }
  if (classes == 2) {
    if (meaning_ == OutputMeaning::classes) to["positive"] = measures_.class_name(positive_);
    to["calibration"] = calibration_curve(scored);
    add_curves(to, thresholds_of(std::move(scored)));
  }
  std::sort(wrong.begin(), wrong.end(), [](Record a, Record b) {
    return std::pair(a[kOfTarget], a[kSample]) < std::pair(b[kOfTarget], b[kSample]);
  });
  wrong.resize(std::min(wrong.size(), kWorst));
  to["worst"] = rows_of(wrong, /*with_error=*/true);
}

void EvaluationCurves::add_numbers(Value& to) const {
  const auto columns = static_cast<std::size_t>(columns_);
  std::vector<Record> all;
  for (Record record = records_.data(); record < records_.data() + records_.size(); record += width_)
    all.push_back(record);
  const auto error = [&](Record record, std::size_t column) {
    return record[1 + columns + column] - record[1 + column];
  };
  Value residuals = Value::array();
  for (std::size_t column = 0; column < columns; ++column) {
    std::vector<double> of_column;
    for (const Record record : all) of_column.push_back(error(record, column));
    residuals.push_back(histogram_of(of_column));
  }
  to["residuals"] = columns == 1 ? residuals[0] : residuals;
  std::vector<Record> sampled;
  for (const std::size_t place : spread(all.size(), kMostRows)) sampled.push_back(all[place]);
  to["sample"] = rows_of(sampled, /*with_error=*/false);
  const auto greatest = [&](Record record) {
    double most = 0;
    for (std::size_t column = 0; column < columns; ++column) most = std::max(most, std::abs(error(record, column)));
    return most;
  };
  std::sort(all.begin(), all.end(), [&](Record a, Record b) {
    return std::pair(-greatest(a), a[kSample]) < std::pair(-greatest(b), b[kSample]);
  });
  all.resize(std::min(all.size(), kWorst));
  to["worst"] = rows_of(all, /*with_error=*/true);
}

Value EvaluationCurves::rows_of(const std::vector<Record>& records, bool with_error) const {
  Value rows = Value::object();
  for (const char* column : {"row", "target", "prediction"}) rows[column] = Value::array();
  const auto columns = static_cast<std::size_t>(columns_);
  const auto numbers = [&](const double* begin) {
    return columns == 1 ? Value(*begin) : Value(std::vector<double>(begin, begin + columns));
  };
  const auto class_of = [&](double number) {
    const auto c = static_cast<std::int64_t>(number);
    return meaning_ == OutputMeaning::classes ? Value(measures_.class_name(c)) : Value(c);
  };
  for (const Record record : records) {
    const auto sample = set_.samples[static_cast<std::int64_t>(record[kSample])].item<std::int64_t>();
    rows["row"].push_back(sample);
    if (std::string path = set_.dataset->sample_path(sample); !path.empty()) rows["file"].push_back(std::move(path));
    if (std::string id = set_.dataset->sample_id(sample); !id.empty()) rows["id"].push_back(std::move(id));
    if (meaning_ == OutputMeaning::numbers) {
      rows["target"].push_back(numbers(record + 1));
      rows["prediction"].push_back(numbers(record + 1 + columns));
      if (with_error && columns == 1) rows["error"].push_back(record[2] - record[1]);
    } else {
      rows["target"].push_back(class_of(record[kTarget]));
      rows["prediction"].push_back(class_of(record[kPredicted]));
      rows["probability"].push_back(record[kOfTarget]);
    }
  }
  return rows;
}

}  // namespace ddp::train
