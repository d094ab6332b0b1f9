#include "tables/mistakes.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "config/check/suggest.h"
#include "config/text/source.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::size_t kShownColumns = 20;

// The first of some names, for a message.
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShownColumns); ++i) {
    text += (i > 0 ? ", " : "") + config::in_quotes(names[i]);
  }
  if (names.size() > kShownColumns) text += " and " + std::to_string(names.size() - kShownColumns) + " more";
  return text;
}

}  // namespace

void Mistakes::count_mistake() {
  if (mistakes_++ == 0) first_rows_ = rows_;
}

void Mistakes::note(const std::string& kind, std::int64_t line, const std::string& what, const std::string& remedy) {
  Alike& alike = alike_[kind];
  if (++alike.count <= kNamed) alike.first.emplace_back(line, what);
  if (remedies_.find(remedy) == std::string::npos) remedies_ += (remedies_.empty() ? "" : "; ") + remedy;
}

void Mistakes::add(std::int64_t line, const std::string& what) {
  if (full()) return;
  count_mistake();
  list_.emplace_back(line, what);
}

void Mistakes::add(std::int64_t line, const format::WantedColumn& column, const std::string& what) {
  add(line, "column " + config::in_quotes(column.name) + ": " + what);
}

void Mistakes::add_ragged(std::int64_t line, const std::string& what) {
  count_mistake();
  note("ragged", line, what, "");
}

void Mistakes::add_text(std::int64_t line, const format::WantedColumn& column, std::string_view cell,
                        const std::string& date_format) {
  count_mistake();
  const bool is_date = column.type == format::CellType::date;
  const std::string what = !is_date              ? "not a number"
                           : date_format.empty() ? "no date of ISO 8601"
                                                 : "no date as " + config::in_quotes(date_format) + " writes it";
  const std::string remedy = (is_date ? "give dataset.date_format, such as \"%d.%m.%Y\", or "
                                      : "name it in dataset.categories, leave it out with dataset.drop, or ") +
                             missing_;
  note("text " + column.name, line,
       "column " + config::in_quotes(column.name) + ": " + config::in_quotes(cell) + " is " + what,
       column.if_text.empty() || is_date ? remedy : column.if_text);
}

void Mistakes::add_missing(std::int64_t line, const format::WantedColumn& column) {
  if (column.if_missing.empty()) return;
  note("missing " + column.name, line, "column " + config::in_quotes(column.name) + ": is missing", column.if_missing);
}

Mistakes::Lines Mistakes::lines() const {
  Lines all = list_;
  for (const auto& [kind, alike] : alike_) {
    if (alike.count <= kNamed) {
      all.insert(all.end(), alike.first.begin(), alike.first.end());
      continue;
    }
    const auto& [line, what] = alike.first.front();
    all.emplace_back(line, what + "; " + std::to_string(alike.count) + " of " + (full() ? "the first " : "") +
                               std::to_string(rows_) + " rows have this mistake");
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

Error Mistakes::error() const {
  const Lines all = lines();
  const std::size_t told = std::min<std::size_t>(all.size(), kMost);
  std::string text;
  for (std::size_t i = 0; i < told; ++i) {
    text += (i > 0 ? "\n" : "") + place_of(all[i].first) + ": " + all[i].second;
  }
  const bool cut = all.size() > told || std::ssize(list_) >= kMost;
  return usage_error(text, "",
                     (cut ? "these are the first " + std::to_string(kMost) + " mistakes; " : "") +
                         (remedies_.empty() ? "correct the file" : remedies_));
}

void require_distinct(const std::vector<format::ColumnInfo>& columns, const std::filesystem::path& file) {
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto [known, is_new] = first.emplace(columns[i].name, i);
    if (is_new) continue;
    throw usage_error("columns " + std::to_string(known->second + 1) + " and " + std::to_string(i + 1) +
                          " have the same name: " + config::in_quotes(columns[i].name),
                      file.string(), "rename one of them");
  }
}

std::vector<int> places_of(const std::vector<format::WantedColumn>& wanted,
                           const std::vector<format::ColumnInfo>& columns, const std::filesystem::path& file) {
  std::map<std::string, int> known;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    known.emplace(columns[i].name, static_cast<int>(i));
    names.push_back(columns[i].name);
  }
  std::vector<int> places;
  std::vector<std::string> missing;
  for (const format::WantedColumn& column : wanted) {
    const auto found = known.find(column.name);
    if (found != known.end()) {
      places.push_back(found->second);
    } else {
      missing.push_back(column.name);
    }
  }
  if (missing.empty()) return places;
  const std::string near = config::nearest(missing.front(), names);
  throw usage_error((missing.size() == 1 ? "has no column " : "has no columns ") + listed(missing) +
                        (near.empty() ? "" : "; did you mean " + config::in_quotes(near) + "?"),
                    file.string(), names.empty() ? "it has no columns" : "its columns: " + listed(names));
}

}  // namespace ddp::tables
