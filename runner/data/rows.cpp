#include "data/rows.h"

#include <algorithm>

#include "record/file/input_file.h"

namespace ddp::data {
namespace {

constexpr std::int64_t kMarks = 64;
constexpr std::int64_t kMeasured = 256;

// Calls `take` with at most `most` numbers from 0 to `count` - 1 at equal distances, the first and the last included.
template <class Take>
void at_equal_distances(std::int64_t count, std::int64_t most, const Take& take) {
  const std::int64_t taken = std::min(count, most);
  for (std::int64_t i = 0; i < taken; ++i) take(taken == 1 ? 0 : i * (count - 1) / (taken - 1));
}

std::string marks_of_first(const datasets::MapDataset& dataset, std::int64_t count) {
  std::string marks;
  at_equal_distances(count, kMarks, [&](std::int64_t row) {
    const datasets::Content content = dataset.content(row);
    marks += record::hash_hex(content.input + '\0' + content.target).substr(0, config::Rows::kDigitsOfMark);
  });
  return marks;
}

}  // namespace

config::Rows marks_of(const datasets::MapDataset& dataset, const std::vector<std::int64_t>& known_rows) {
  config::Rows rows{.count = dataset.size(), .marks = marks_of_first(dataset, dataset.size())};
  if (!known_rows.empty()) rows.known = marks_of_first(dataset, std::min(known_rows.back(), dataset.size()));
  return rows;
}

std::string hash_of_rows(const datasets::MapDataset& dataset, const at::Tensor& samples) {
  const at::Tensor sorted = std::get<0>(samples.sort());
  const std::int64_t* const row = sorted.const_data_ptr<std::int64_t>();
  std::string text = std::to_string(sorted.numel());
  at_equal_distances(sorted.numel(), kMeasured, [&](std::int64_t i) {
    text += '\0' + std::to_string(row[i]) + '\0' + dataset.content(row[i]).target;
  });
  return record::hash_hex(text);
}

}  // namespace ddp::data
