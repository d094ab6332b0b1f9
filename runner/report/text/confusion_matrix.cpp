#include "report/text/confusion_matrix.h"

#include <algorithm>

#include "config/text/source.h"
#include "report/text/text_width.h"

namespace ddp::report {
namespace {

constexpr const char* kHead = "class  predicted as";
constexpr std::size_t kWidestName = 24;

// Returns "0 cat" for each class, and kHead as the last; all have the same width.
std::vector<std::string> labels_of(std::size_t classes, const std::vector<std::string>& names) {
  std::vector<std::string> labels;
  std::size_t width = text_width(kHead);
  for (std::size_t i = 0; i < classes; ++i) {
    labels.push_back(std::to_string(i));
    if (names.size() == classes) labels[i] += " " + clipped(config::printable(names[i]), kWidestName, "...");
    width = std::max(width, text_width(labels[i]));
  }
  labels.push_back(kHead);
  for (std::string& label : labels) label += std::string(width - text_width(label), ' ');
  return labels;
}

}  // namespace

std::string in_lines(const std::vector<std::vector<std::int64_t>>& matrix, const std::vector<std::string>& names) {
  std::size_t width = 0;
  for (const auto& row : matrix) {
    for (const std::int64_t count : row) width = std::max(width, std::to_string(count).size());
  }
  const auto cell = [width](std::int64_t number) {
    const std::string digits = std::to_string(number);
    return std::string(width + 2 - std::min(width, digits.size()), ' ') + digits;
  };
  const std::vector<std::string> labels = labels_of(matrix.size(), names);
  std::string text = labels.back();
  for (std::size_t i = 0; i < matrix.size(); ++i) text += cell(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    text += "\n" + labels[i];
    for (const std::int64_t count : matrix[i]) text += cell(count);
  }
  return text;
}

}  // namespace ddp::report
