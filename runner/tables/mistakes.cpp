#include "tables/mistakes.h"

#include <algorithm>

#include "config/text/source.h"
#include "tables/unusual_text.h"

namespace ddp::tables {
namespace {

constexpr std::size_t kShownBytes = 40;

void append_sentence(std::string& text, const std::string& more) {
  if (more.empty() || text.find(more) != std::string::npos) return;
  text += (text.empty() ? "" : "; ") + more;
}

}  // namespace

std::string shortened(std::string_view text) {
  if (text.size() <= kShownBytes) return config::printable(text);
  std::size_t size = kShownBytes;
  // Does not cut inside of a multi-byte character.
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return config::printable(text.substr(0, size)) + "…";
}

std::string shown(std::string_view text) { return "\"" + shortened(text) + "\""; }

void Mistakes::add(std::int64_t line, const std::string& what) {
  if (full()) return;
  if (empty()) first_rows_ = rows_;
  list_.emplace_back(line, what);
}

void Mistakes::add(std::int64_t line, const format::WantedColumn& column, const std::string& what) {
  add(line, "column " + shown(column.name) + ": " + what);
}

void Mistakes::add_ragged(std::int64_t line, const std::string& what, bool ends_with_delimiter) {
  if (empty()) first_rows_ = rows_;
  ++ragged_rows_;
  rows_with_last_delimiter_ += ends_with_delimiter;
  if (ragged_.size() < kNamedCells) ragged_.emplace_back(line, what);
}

void Mistakes::add_text(std::int64_t line, const format::WantedColumn& column, std::string_view cell) {
  if (empty()) first_rows_ = rows_;
  note(texts_, line, column, cell);
}

void Mistakes::add_missing(std::int64_t line, const format::WantedColumn& column) {
  if (!column.if_missing.empty()) note(missing_, line, column, "");
}

void Mistakes::note(Columns& columns, std::int64_t line, const format::WantedColumn& column, std::string_view cell) {
  Cells& cells = columns.try_emplace(column.name, Cells{.column = column}).first->second;
  ++cells.count;
  if (cells.first.size() < kNamedCells) cells.first.emplace_back(line, cell);
}

std::string Mistakes::cells_in_words(const Cells& cells, const std::string& kind) const {
  return "column " + shown(cells.column.name) + ": " + std::to_string(cells.count) + " of " +
         (full() ? "the first " : "") + std::to_string(rows_) + " cells are " + kind;
}

void Mistakes::add_lines_of_ragged(std::vector<std::pair<std::int64_t, std::string>>& all) const {
  if (ragged_rows_ <= std::ssize(ragged_)) {
    all.insert(all.end(), ragged_.begin(), ragged_.end());
    return;
  }
  const auto& [line, what] = ragged_.front();
  all.emplace_back(line, what + "; " + std::to_string(ragged_rows_) + " of " + (full() ? "the first " : "") +
                             std::to_string(rows_) + " rows have a wrong number of cells");
}

std::vector<std::pair<std::int64_t, std::string>> Mistakes::lines() const {
  std::vector<std::pair<std::int64_t, std::string>> all = list_;
  add_lines_of_ragged(all);
  for (const auto& [name, cells] : texts_) {
    const std::string first = shown(cells.first.front().second);
    if (cells.count > std::ssize(cells.first)) {
      all.emplace_back(cells.first.front().first, cells_in_words(cells, "not numbers, the first is " + first));
      continue;
    }
    for (const auto& [line, cell] : cells.first) {
      all.emplace_back(line, "column " + shown(name) + ": " + shown(cell) + " is not a number");
    }
  }
  for (const auto& [name, cells] : missing_) {
    if (cells.count > std::ssize(cells.first)) {
      all.emplace_back(cells.first.front().first, cells_in_words(cells, "missing"));
      continue;
    }
    for (const auto& [line, cell] : cells.first) all.emplace_back(line, "column " + shown(name) + ": is missing");
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

bool Mistakes::only_in_line(std::int64_t line) const {
  const auto all = lines();
  return std::all_of(all.begin(), all.end(), [&](const auto& one) { return one.first == line; }) &&
         std::all_of(texts_.begin(), texts_.end(), [](const auto& one) { return one.second.count == 1; });
}

std::string Mistakes::remedy_for_ragged() const {
  if (rows_with_last_delimiter_ < ragged_rows_) return "a cell that contains the delimiter needs quotes: \"1,100\"";
  return std::string(ragged_rows_ == rows_ ? "each row ends" : "such a row ends") + " with a delimiter: remove it";
}

std::string Mistakes::remedy_for_texts(const std::string& name, const Cells& cells, bool mostly_text) const {
  const std::string& role = cells.column.if_text;
  const std::string column = "column " + shown(name);
  const Advice advice = advice_for(cells.first.front().second, if_mark_);
  if (!advice.text.empty() && (role.empty() || advice.is_number)) {
    const bool may_leave = role.empty();
    return column + ": " + advice.text + (may_leave ? ", or leave it out with dataset.drop" : "");
  }
  const std::string remedy = role.empty() ? "name it in dataset.categories or leave it out with dataset.drop" : role;
  if (mostly_text) return column + " holds text: " + remedy;
  const std::string correct = cells.count == 1 ? "correct the cell" : "correct the cells";
  return correct + "; or, if " + column + " holds text, " + remedy;
}

std::string Mistakes::remedy() const {
  std::string text;
  if (!ragged_.empty()) text = remedy_for_ragged();
  for (const auto& [name, cells] : texts_) {
    append_sentence(text, remedy_for_texts(name, cells, /*mostly_text=*/cells.count > 1 && cells.count * 2 > rows_));
  }
  for (const auto& [name, cells] : missing_) append_sentence(text, cells.column.if_missing);
  return text.empty() ? "correct the file" : text;
}

Error Mistakes::error() const {
  const auto all = lines();
  const std::size_t told = std::min<std::size_t>(all.size(), kMost);
  std::string text;
  for (std::size_t i = 0; i < told; ++i) {
    text += (i > 0 ? "\n" : "") + place_of(all[i].first) + ": " + all[i].second;
  }
  const bool cut = all.size() > told || std::ssize(list_) >= kMost;
  return usage_error(text, "", (cut ? "these are the first " + std::to_string(kMost) + " mistakes; " : "") + remedy());
}

}  // namespace ddp::tables
