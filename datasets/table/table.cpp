#include "datasets/table/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#include <ATen/Parallel.h>

#include "base/error.h"
#include "base/on_threads.h"
#include "base/text_date.h"
#include "config/text/source.h"
#include "datasets/table/options.h"

namespace ddp::datasets {
namespace fs = std::filesystem;

namespace {

// Returns the lines of these rows of a file; empty if the file has no lines.
std::vector<std::int64_t> lines_in(const fs::path& path, const std::optional<format::TableOptions>& how,
                                   const std::vector<std::int64_t>& rows) try {
  if (!how) return {};
  return format::open_table(path, *how)->lines_of(rows);
} catch (const Error&) {
  // Without lines, an error names the rows.
  return {};
}

// Returns the error of a file whose columns are not the ones of the first file.
Error other_columns(const std::vector<format::ColumnInfo>& first, const fs::path& first_file,
                    const std::vector<format::ColumnInfo>& others, const fs::path& file) {
  std::string what = "has " + std::to_string(others.size()) + " columns, but " + first_file.string() + " has " +
                     std::to_string(first.size());
  for (std::size_t i = 0; i < std::min(first.size(), others.size()); ++i) {
    if (first[i].name == others[i].name) continue;
    what = "has the column " + config::in_quotes(others[i].name) + " where " + first_file.string() + " has " +
           config::in_quotes(first[i].name);
    break;
  }
  return usage_error(what, file.string(), "all files of dataset.path need the same columns in the same order");
}

}  // namespace

std::vector<std::string> category_columns(const TableSection& o) {
  std::vector<std::string> columns;
  for (const auto& [key, value] : o.categories.items()) {
    columns.push_back(o.categories.is_object() ? key : value.get<std::string>());
  }
  return columns;
}

std::vector<std::string> given_categories(const TableSection& o, const std::string& column) {
  std::vector<std::string> values;
  if (!o.categories.is_object() || !o.categories.contains(column)) return values;
  const config::Value& given = o.categories.at(column);
  for (const config::Value& one : given.is_array() ? given : config::Value::array({given})) {
    const std::string text = one.is_string() ? one.get<std::string>() : one.dump();
    const bool is_value = given.is_array() && (one.is_string() || one.is_number());
    if (!is_value || std::find(values.begin(), values.end(), text) != values.end()) {
      throw usage_error("the values of column " + config::in_quotes(column) + " must be a list of different texts",
                        "dataset.categories",
                        "give { " + column + " = [\"a\", \"b\"] }; [] takes those of the training rows");
    }
    values.push_back(text);
  }
  return values;
}

std::vector<std::string> given_classes(const TableSection& o) {
  std::vector<std::string> names;
  for (const config::Value& one : o.classes) names.push_back(one.is_string() ? one.get<std::string>() : one.dump());
  return names;
}

std::int64_t positive_class(const config::Value& positive, const ValueNames& classes) {
  if (positive.is_null()) return -1;
  const std::string name = positive.is_string() ? positive.get<std::string>() : positive.dump();
  const std::int64_t found = classes.find(name);
  if (found >= 0 && classes.size() == 2) return found;
  std::string all;
  for (const std::string& one : classes.names()) all += (all.empty() ? "" : ", ") + config::in_quotes(one);
  throw usage_error(found < 0
                        ? config::in_quotes(name) + " is no class of the target"
                        : "the target has " + std::to_string(classes.size()) + " classes, and one of two is positive",
                    "dataset.positive", classes.size() == 0 ? "the loss takes no classes" : "its classes are " + all);
}

bool may_be_grouped(const Table& table, std::size_t column) {
  constexpr std::int64_t kFewNumbers = 20;
  std::int64_t count = 0;
  bool has_point = false, may_be = true;
  table.each(column, [&](const format::ColumnCells& cells, std::int64_t rows, std::int64_t) {
    for (std::int64_t r = 0; may_be && r < rows; ++r) {
      if (cells.is_missing(r)) continue;
      const double size = std::abs(cells.numbers[r]);
      const bool is_whole = size == std::trunc(size);
      may_be = is_whole || (size >= 1 && size < 1000 && std::abs(size * 1000 - std::round(size * 1000)) <= 1e-6);
      has_point = has_point || !is_whole;
      ++count;
    }
  });
  return may_be && has_point && count > kFewNumbers;
}

std::string grouped_number(const Table& texts) {
  std::string grouped;
  bool has_plain = false, has_other = false;
  texts.each(0, [&](const format::ColumnCells& cells, std::int64_t rows, std::int64_t) {
    for (std::int64_t r = 0; !has_other && r < rows; ++r) {
      if (cells.is_missing(r)) continue;
      std::string_view text = cells.text_of(r);
      text.remove_prefix(std::min(text.find_first_not_of(" \t+-"), text.size()));
      const std::size_t point = text.find('.');
      has_plain = has_plain || point == std::string_view::npos;
      if (point == std::string_view::npos) continue;
      const std::string_view rest = text.substr(point + 1, text.find_last_not_of(" \t") - point);
      const bool is_group = rest.size() == 3 && rest.find_first_not_of("0123456789") == std::string_view::npos;
      has_other = !is_group || point < 1 || point > 3 || text.front() == '0';
      grouped = cells.text_of(r);
    }
  });
  return has_plain && !has_other ? grouped : "";
}

std::string cells_of_row(const Table& table, std::int64_t row, std::size_t first, std::size_t last) {
  const auto after = std::upper_bound(table.pieces.begin(), table.pieces.end(), row,
                                      [](std::int64_t r, const Table::Piece& piece) { return r < piece.first_row; });
  const Table::Piece& piece = *std::prev(after);
  const std::int64_t r = row - piece.first_row;
  std::string bytes;
  for (std::size_t i = first; i < last; ++i) {
    const format::ColumnCells& cells = piece.chunk.columns[i];
    bytes += cells.is_missing(r) ? '0' : '1';
    if (cells.offsets != nullptr) {
      bytes += std::string(cells.text_of(r)) + '\0';
    } else if (!cells.is_missing(r)) {
      bytes.append(reinterpret_cast<const char*>(cells.numbers + r), sizeof(double));
    }
  }
  return bytes;
}

format::TableOptions csv_options(const CsvSection& o) {
  if (o.delimiter.size() > 1 || o.delimiter.find_first_of("\"\r\n") != std::string::npos) {
    throw usage_error(
        "the delimiter must be one character, neither a quote nor an end of line, not \"" + o.delimiter + "\"",
        "dataset.delimiter", "write delimiter = \";\", or \"\\t\" for tabs");
  }
  static constexpr std::array kThousands = {"", ".", ",", " ", "'", "\u00a0", "\u202f", "\u2019"};
  const bool is_known = std::find(kThousands.begin(), kThousands.end(), o.thousands) != kThousands.end();
  if (!is_known || o.thousands == o.decimal) {
    throw usage_error(
        config::in_quotes(o.thousands) + (is_known ? " stands before fractions, too" : " cannot group thousands"),
        "dataset.thousands", "write \".\", \",\", \" \" or \"'\", and another one than dataset.decimal");
  }
  format::TableOptions options = options_of(o, "csv");
  options.delimiter = o.delimiter.empty() ? '\0' : o.delimiter.front();
  options.header = o.header;
  options.missing_values = o.missing_values;
  options.numbers = {.decimal = o.decimal.front(), .thousands = o.thousands};
  return options;
}

format::TableOptions options_of(const TableSection& o, const std::string& format) {
  if (const std::string unknown = unknown_directive(o.date_format); !unknown.empty()) {
    throw usage_error(config::in_quotes(unknown) + " is no part of a date", "dataset.date_format",
                      "known are %Y %y %m %d %b %B %j %H %I %M %S %f %p %z %a %A");
  }
  return {.format = format, .date_format = o.date_format};
}

format::TableOptions table_options(const config::Component& dataset, const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  if (ending == ".gz" || ending == ".zst") ending = file.stem().extension().string();
  std::string format = dataset.name;
  if (ending == ".csv" || ending == ".tsv") format = "csv";
  if (ending == ".parquet" || ending == ".feather") format = "parquet";
  if (ending == ".jsonl" || ending == ".ndjson") format = "jsonl";
  // Only the dataset "csv" has the options of text tables.
  if (dataset.name == "csv") {
    format::TableOptions options = csv_options(config::read<CsvSection>(dataset.options));
    options.format = format;
    return options;
  }
  return options_of(config::read<TableSection>(dataset.options), format);
}

// Threads whose work reads columns wait for each other: the last one that comes to each() or ends makes a pass for all.
class Scans {
 public:
  using Scan = std::function<void(const std::vector<std::size_t>& columns, const TakeChunk& take)>;

  explicit Scans(Scan scan) : scan_(std::move(scan)) {}

  const Scan& scan() const { return scan_; }

  void each(std::size_t column, const Table::TakeCells& take) {
    std::unique_lock lock(mutex_);
    asked_.emplace_back(column, &take);
    const std::shared_ptr<Pass> pass = pass_;
    leave(1, lock);
    passed_.wait(lock, [&] { return pass->has_ended; });
    if (pass->failure) std::rethrow_exception(pass->failure);
  }

  void together(std::int64_t count, const std::function<void(std::int64_t)>& work) {
    for (std::int64_t begin = 0; begin < count; begin += kTogether) {
      const std::int64_t some = std::min(kTogether, count - begin);
      std::exception_ptr failure;
      working_ = some;
      const auto work_on = [&](std::int64_t i) {
        std::exception_ptr own;
        try {
          work(i);
        } catch (...) {
          own = std::current_exception();
        }
        std::unique_lock lock(mutex_);
        if (!failure) failure = own;
        leave(1, lock);
      };
      {
        std::vector<std::jthread> threads;
        try {
          while (std::ssize(threads) < some) threads.emplace_back(work_on, begin + std::ssize(threads));
        } catch (const std::system_error&) {
          std::unique_lock lock(mutex_);
          failure = std::make_exception_ptr(training_error("the system starts no more threads"));
          leave(some - std::ssize(threads), lock);
        }
      }
      working_ = 1;
      if (failure) std::rethrow_exception(failure);
    }
  }

 private:
  static constexpr std::int64_t kTogether = 256;  // threads
  using Asked = std::vector<std::pair<std::size_t, const Table::TakeCells*>>;
  struct Pass {
    bool has_ended = false;
    std::exception_ptr failure;
  };

  // The last thread that leaves makes the pass for those that asked, and they are at work again.
  void leave(std::int64_t threads, std::unique_lock<std::mutex>& lock) {
    working_ -= threads;
    if (working_ > 0 || asked_.empty()) return;
    const std::shared_ptr<Pass> pass = std::exchange(pass_, std::make_shared<Pass>());
    const auto asked = std::exchange(asked_, {});
    lock.unlock();
    try {
      make_pass(asked);
    } catch (...) {
      pass->failure = std::current_exception();
    }
    lock.lock();
    working_ += std::ssize(asked);
    pass->has_ended = true;
    passed_.notify_all();
  }

  void make_pass(const Asked& asked) const {
    std::vector<std::size_t> columns, places;
    for (const auto& [column, take] : asked) {
      const auto known = std::find(columns.begin(), columns.end(), column);
      places.push_back(static_cast<std::size_t>(known - columns.begin()));
      if (known == columns.end()) columns.push_back(column);
    }
    scan_(columns, [&](const format::TableChunk& chunk, std::int64_t first_row) {
      for (std::size_t i = 0; i < asked.size(); ++i) {
        (*asked[i].second)(chunk.columns[places[i]], chunk.rows, first_row);
      }
    });
  }

  const Scan scan_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable passed_;
  std::int64_t working_ = 1;  // threads that may still ask
  Asked asked_;
  std::shared_ptr<Pass> pass_ = std::make_shared<Pass>();  // the next one
};

std::shared_ptr<Scans> make_scans(Scans::Scan scan) { return std::make_shared<Scans>(std::move(scan)); }

void Table::each(std::size_t column, const TakeCells& take) const {
  if (scans) return scans->each(column, take);
  for (const Piece& piece : pieces) take(piece.chunk.columns[column], piece.chunk.rows, piece.first_row);
}

void Table::each_of(
    std::size_t count,
    const std::function<void(std::size_t, const format::ColumnCells&, std::int64_t, std::int64_t)>& take) const {
  const auto take_all = [&](const format::TableChunk& chunk, std::int64_t first_row) {
    for (std::size_t i = 0; i < count; ++i) take(i, chunk.columns[i], chunk.rows, first_row);
  };
  if (scans) {
    std::vector<std::size_t> columns(count);
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    return scans->scan()(columns, take_all);
  }
  for (const Piece& piece : pieces) take_all(piece.chunk, piece.first_row);
}

void Table::together(std::int64_t count, const std::function<void(std::int64_t)>& work) const {
  if (scans) return scans->together(count, work);
  on_threads(count, at::get_num_threads(), work);
}

std::map<std::int64_t, std::string> Table::places_of(const std::set<std::int64_t>& asked) const {
  std::map<std::int64_t, std::string> places;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const File& file = files[i];
    const auto begin = asked.lower_bound(file.first_row);
    const auto end = i + 1 < files.size() ? asked.lower_bound(files[i + 1].first_row) : asked.end();
    if (begin == end) continue;
    std::vector<std::int64_t> in_file;
    for (auto row = begin; row != end; ++row) in_file.push_back(*row - file.first_row);
    const std::vector<std::int64_t> lines = lines_in(file.path, how, in_file);
    for (std::size_t k = 0; k < in_file.size(); ++k) {
      const std::string place = k < lines.size() ? std::to_string(lines[k]) : "row " + std::to_string(in_file[k]);
      places[in_file[k] + file.first_row] = file.path.string() + ":" + place;
    }
  }
  return places;
}

std::vector<format::ColumnInfo> columns_of(const std::vector<fs::path>& files, const format::TableOptions& options,
                                           OpenTables& opened, std::size_t most_open) {
  std::vector<format::ColumnInfo> first;
  for (const fs::path& file : files) {
    std::unique_ptr<format::TableFile> table = format::open_table(file, options);
    const std::vector<format::ColumnInfo>& columns = table->columns();
    if (&file == &files.front()) first = columns;
    const bool same = std::equal(first.begin(), first.end(), columns.begin(), columns.end(),
                                 [](const auto& a, const auto& b) { return a.name == b.name; });
    if (!same) throw other_columns(first, files.front(), columns, file);
    if (opened.size() < most_open) opened.push_back(std::move(table));
  }
  return first;
}

Table read_table(const std::vector<fs::path>& files, const format::TableOptions& options,
                 const std::vector<format::WantedColumn>& wanted, const OpenTables& opened) {
  Table table{.how = options};
  for (const fs::path& path : files) {
    const std::size_t number = table.files.size();
    table.files.push_back({.path = path, .first_row = table.rows});
    const auto own = number < opened.size() ? nullptr : format::open_table(path, options);
    format::TableFile& file = own ? *own : *opened[number];
    file.read(wanted);
    for (format::TableChunk chunk; file.next(chunk);) {
      const std::int64_t rows = chunk.rows;
      table.pieces.push_back({.chunk = std::move(chunk), .first_row = table.rows});
      table.rows += rows;
    }
  }
  return table;
}

void Mistakes::add(std::int64_t row, const std::string& column, const CellFault& fault) {
  Cells& cells = cells_.try_emplace({column, fault.remedy}, Cells{.first = fault}).first->second;
  ++cells.count;
  if (cells.named.size() < kNamed) cells.named.emplace_back(row, fault.one);
}

std::vector<std::pair<std::int64_t, std::string>> Mistakes::lines() const {
  std::vector<std::pair<std::int64_t, std::string>> all;
  for (const auto& [key, cells] : cells_) {
    const std::string column = "column \"" + key.first + "\": ";
    if (cells.count > std::ssize(cells.named)) {
      all.emplace_back(cells.named.front().first, column + std::to_string(cells.count) + " cells " + cells.first.many);
      continue;
    }
    for (const auto& [row, what] : cells.named) all.emplace_back(row, column + what);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

void Mistakes::require_none(const Table& table) const {
  if (cells_.empty()) return;
  auto all = lines();
  const bool cut = all.size() > kMost;
  if (cut) all.resize(kMost);
  std::set<std::int64_t> rows;
  for (const auto& [row, what] : all) rows.insert(row);
  const auto places = table.places_of(rows);
  std::string text;
  for (const auto& [row, what] : all) text += text.empty() ? what : "\n  " + places.at(row) + ": " + what;
  std::string remedies;
  for (const auto& [key, cells] : cells_) {
    const std::string& remedy = key.second;
    if (remedies.find(remedy) == std::string::npos) remedies += (remedies.empty() ? "" : "; ") + remedy;
  }
  throw usage_error(text + (cut ? "\n  …" : ""), places.at(all.front().first), remedies);
}

}  // namespace ddp::datasets
