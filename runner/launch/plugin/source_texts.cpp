#include "launch/plugin/source_texts.h"

#include <algorithm>

#include "base/error.h"
#include "base/paths.h"
#include "record/file/atomic_file.h"
#include "record/file/hash.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMostSourceBytes = 16 << 20;  // limit for a hand-written file

// Returns the files after the colon of a make rule.
std::vector<std::string> prerequisites(const std::string& rule) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const char c = rule[i];
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (c == '\\' && next == '\n') {
      ++i;
    } else if ((c == '\\' && (next == ' ' || next == '#' || next == '\\')) || (c == '$' && next == '$')) {
      words.back() += next;
      ++i;
    } else if (c == ' ' || c == '\n') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  words.erase(std::remove(words.begin(), words.end(), ""), words.end());
  if (!words.empty()) words.erase(words.begin());  // the target
  return words;
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

}  // namespace

std::string file_names(const std::vector<fs::path>& files) {
  std::string names;
  for (const fs::path& file : files) names += (names.empty() ? "" : ", ") + file.filename().string();
  return names;
}

SourceTexts::SourceTexts(std::vector<fs::path> sources) : sources_(std::move(sources)), files_(sources_) {
  for (const fs::path& source : sources_) texts_.push_back(record::read_text(source, kMostSourceBytes));
}

bool SourceTexts::add(const std::vector<HeaderPlace>& headers) try {
  for (const HeaderPlace& header : headers) {
    const auto& [number, name] = header;
    if (number >= sources_.size()) return false;
    const fs::path file = (sources_[number].parent_path() / name).lexically_normal();
    headers_.push_back(header);
    if (std::find(files_.begin(), files_.end(), file) != files_.end()) continue;
    texts_.push_back(record::read_text(file, kMostSourceBytes));
    files_.push_back(file);
  }
  return true;
} catch (const Error&) {
  return false;
}

bool SourceTexts::changed_since(fs::file_time_type time) const {
  return std::any_of(files_.begin(), files_.end(), [&](const fs::path& file) {
    std::error_code gone;
    return fs::last_write_time(file, gone) >= time || gone;
  });
}

std::vector<HeaderPlace> SourceTexts::headers_in(const std::string& dependencies, std::size_t number,
                                                 const std::vector<fs::path>& others) const {
  std::vector<HeaderPlace> headers;
  for (const std::string& word : prerequisites(dependencies)) {
    const fs::path file = fs::path(word).lexically_normal();
    const bool others_have_it =
        std::any_of(others.begin(), others.end(), [&](const fs::path& other) { return lies_in(file, other); });
    if (others_have_it || file == sources_[number]) continue;
    headers.emplace_back(number, file.lexically_relative(sources_[number].parent_path()).string());
  }
  return headers;
}

std::string SourceTexts::hash_of_sources() const {
  std::string all;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    all += sources_[i].filename().string() + '\0' + record::hash_hex(texts_[i]) + '\n';
  }
  return record::hash_hex(all);
}

std::string SourceTexts::hash_of_all() const {
  std::string all;
  for (const auto& [number, name] : headers_) all += std::to_string(number) + ' ' + name + '\n';
  for (const std::string& text : texts_) all += record::hash_hex(text) + '\n';
  for (const std::string& name : names()) all += name + '\0';
  return record::hash_hex(all);
}

fs::path SourceTexts::common_folder() const {
  fs::path common = files_.front().parent_path();
  for (const fs::path& file : files_) {
    while (!lies_in(file, common)) common = common.parent_path();
  }
  return common;
}

std::vector<std::string> SourceTexts::names() const {
  const fs::path common = common_folder();
  std::vector<std::string> names;
  for (const fs::path& file : files_) names.push_back(file.lexically_relative(common).string());
  return names;
}

void SourceTexts::write(const fs::path& folder) const {
  const std::vector<std::string> all = names();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const fs::path file = folder / all[i];
    paths::make_folders(file.parent_path());
    record::write_atomically(file, texts_[i]);
  }
}

}  // namespace ddp::launch
