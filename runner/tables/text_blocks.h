#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/option/fields.h"
#include "format/table.h"
#include "record/file/input_file.h"
#include "record/file/kept_value.h"
#include "tables/source.h"

namespace ddp::tables {

// The parts of a text that are read by themselves: whole rows in at most 4 MiB, or one longer row.
struct TextBlocks {
  std::vector<std::int64_t> begins = {};  // in bytes
  std::vector<std::int64_t> rows = {};    // of each

  // Adds the next rows, in these bytes. Those of a compressed file are one block.
  void add(std::int64_t more, std::int64_t begin, std::int64_t size, bool is_compressed) {
    constexpr std::int64_t kMostBytes = 4 << 20;
    if (begins.empty() || (!is_compressed && begin + size - begins.back() > kMostBytes)) {
      begins.push_back(begin);
      rows.push_back(0);
    }
    rows.back() += more;
  }

  Span span(std::int64_t block) const {
    const auto i = static_cast<std::size_t>(block);
    if (i + 1 == begins.size()) return {.begin = begins[i]};
    return {.begin = begins[i], .size = begins[i + 1] - begins[i]};
  }

  // Can they be those of a text? Others come from a damaged index.
  bool is_sound() const {
    constexpr std::int64_t kMostRows = std::int64_t{1} << 48;
    if (begins.empty() || begins.size() != rows.size() || begins.front() < 0) return false;
    std::int64_t left = kMostRows;
    for (const std::int64_t count : rows) {
      if (count < 0 || count > left) return false;
      left -= count;
    }
    return std::is_sorted(begins.begin(), begins.end());
  }

  void fields(config::Fields& f) {
    f({.name = "begins"}, begins);
    f({.name = "rows"}, rows);
  }
};

// Returns what `find` finds in a text that is opened by TableOptions::open, once for each content: the cache folder
// keeps it. `kind`: what it depends on besides the content. Other texts are read each time.
template <class Found, class Find>
Found indexed(const std::filesystem::path& file, const format::TableOptions& options, const std::string& kind,
              const Find& find) {
  constexpr const char* kFolder = "indexes";
  constexpr std::size_t kMost = 100'000;
  if (!options.open) return find();
  const std::string key = record::hash_hex(kind + '\0' + options.open(file)->identity());
  if (const auto known = record::find_kept(kFolder, key)) {
    try {
      Found kept = config::read_written<Found>(*known);
      if (kept.is_sound()) return kept;
    } catch (const Error&) {  // it is found again
    }
  }
  const Found found = find();
  record::keep_value(kFolder, key, config::written(found), kMost);
  if (record::find_kept(kFolder, key)) return found;
  throw usage_error("an index of this text cannot be kept in the cache folder", file.string(),
                    "XDG_CACHE_HOME names another folder");
}

}  // namespace ddp::tables
