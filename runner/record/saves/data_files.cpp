#include "record/saves/data_files.h"

#include <sys/stat.h>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/url.h"
#include "config/load/files.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/saves/graphs.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::size_t kMostDifferences = 20;
// With more files, state.json would take minutes to write: for a million images it keeps one line per folder.
constexpr std::size_t kFilesByName = 1000;

// JSON holds UTF-8 only; a file's name may be other bytes.
std::string in_utf8(const std::string& name) {
  return config::Value::parse(config::Value(name).dump(-1, ' ', false, config::Value::error_handler_t::replace));
}

void add_file(std::vector<DataFile>& files, const std::string& key, const fs::path& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0 || S_ISDIR(s.st_mode)) return;
  files.push_back({.key = key,
                   .path = in_utf8(path.string()),
                   .bytes = s.st_size,
                   .modified = s.st_mtim.tv_sec * kNanoseconds + s.st_mtim.tv_nsec});
}

// Of an object put again with the same ETag only the version and the time are others.
DataFile state_of(const std::string& key, const config::Object& object) {
  DataFile file{.key = key, .path = in_utf8(without_query(object.url)), .bytes = object.bytes, .etag = object.etag};
  if (file.etag.empty()) file.version = object.version;
  if (file.etag.empty() && file.version.empty()) file.modified = object.modified;
  return file;
}

// Replaces the states of files by one state for each of their folders.
std::vector<DataFile> by_folder(const std::vector<DataFile>& files) {
  std::map<std::string, DataFile> folders;
  std::map<std::string, std::string> texts;
  for (const DataFile& file : files) {
    const fs::path path = file.path;
    const std::string name = path.parent_path().string();
    DataFile& folder = folders.try_emplace(name, DataFile{.key = file.key, .path = name}).first->second;
    folder.bytes += file.bytes;
    folder.modified = folder.files == 0 ? file.modified : std::max(folder.modified, file.modified);
    ++folder.files;
    texts[name] +=
        path.filename().string() + '\0' + std::to_string(file.bytes) + " " + std::to_string(file.modified) + '\0';
  }
  std::vector<DataFile> states;
  for (auto& [name, folder] : folders) {
    folder.hash = hash_hex(texts[name]);
    states.push_back(std::move(folder));
  }
  return states;
}

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

// Returns the files of a folder, sorted by name, without the hidden ones, which are no samples. Follows links to
// folders, each folder once.
std::vector<fs::path> files_below(const fs::path& folder) {
  constexpr auto kHow = fs::directory_options::skip_permission_denied | fs::directory_options::follow_directory_symlink;
  std::vector<fs::path> found;
  std::set<fs::path> followed;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, kHow, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code none;
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
      continue;
    }
    const bool leads_on = entry->is_symlink(none) && entry->is_directory(none);
    if (leads_on && !followed.insert(fs::canonical(entry->path(), none)).second) entry.disable_recursion_pending();
    found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool names_part(const std::string& key) { return key.starts_with("model.") || key.starts_with("loss."); }

bool names_data(const std::string& key) {
  return key.starts_with("dataset.") || key.starts_with("validation.dataset.") || key.starts_with("test.dataset.") ||
         names_part(key);
}

// Runs keep their own copies of graphs (record/saves/graphs.h).
bool is_graph(const DataFile& file) { return file.files == 0 && !file.hash.empty(); }

// Returns "" if the files of a folder are the same.
std::string change_of_folder(const DataFile& then, const DataFile& now) {
  if (now.files != then.files) {
    return "has " + std::to_string(now.files) + " files, but had " + std::to_string(then.files) +
           " when the checkpoint was trained";
  }
  if (now.bytes == then.bytes && now.modified == then.modified && now.hash == then.hash) return "";
  return "has files whose name, size or time changed since the checkpoint was trained";
}

// Returns "" if the file is the same.
std::string change_of(const DataFile& then, const DataFile& now) {
  if (then.files > 0 || now.files > 0) return change_of_folder(then, now);
  if (now.bytes != then.bytes) {
    return "has " + std::to_string(now.bytes) + " bytes, but had " + std::to_string(then.bytes) +
           " when the checkpoint was trained";
  }
  return now.modified == then.modified && now.etag == then.etag && now.version == then.version
             ? ""
             : "was modified since the checkpoint was trained";
}

std::map<std::string, const DataFile*> by_path(const std::vector<DataFile>& files) {
  std::map<std::string, const DataFile*> found;
  for (const DataFile& file : files) {
    if (is_graph(file)) continue;
    // URLs that differ in their queries alone have one path here.
    std::string name = file.path;
    while (!found.emplace(name, &file).second) name += " (another query)";
  }
  return found;
}

// Returns the files that are compared: no graphs, and none of these options.
std::vector<DataFile> without(std::vector<DataFile> files, const std::vector<std::string>& keys) {
  std::erase_if(files, [&](const DataFile& file) {
    return is_graph(file) || std::find(keys.begin(), keys.end(), file.key) != keys.end();
  });
  return files;
}

// A path, and what differs.
using Change = std::pair<std::string, std::string>;

DataDifference in_words(const std::vector<Change>& changes) {
  DataDifference all;
  for (std::size_t i = 0; i < std::min(changes.size(), kMostDifferences); ++i) {
    const auto& [path, what] = changes[i];
    if (i == 0) all.path = path;
    all.what += i == 0 ? what : "\n  " + path + ": " + what;
  }
  if (changes.size() > kMostDifferences) all.what += "\n  …";
  return all;
}

// Returns nothing if an older version wrote the checkpoint.
std::optional<std::vector<DataFile>> data_of_checkpoint(const fs::path& checkpoint) {
  return read_kept<DataMember>(checkpoint / "state.json").data;
}

constexpr std::size_t kDigitsOfMark = config::Rows::kDigitsOfMark;

// Other rows, or another order, change nearly all marks; a correction changes few.
bool are_mostly_equal(const std::string& then, const std::string& now) {
  if (then.size() != now.size()) return false;
  std::size_t equal = 0;
  for (std::size_t i = 0; i < then.size(); i += kDigitsOfMark) {
    equal += then.compare(i, kDigitsOfMark, now, i, kDigitsOfMark) == 0 ? kDigitsOfMark : 0;
  }
  return 2 * equal >= then.size();
}

// The member "rows" of a state.json.
struct RowsMember {
  std::optional<config::Rows> rows = {};
  void fields(config::Fields& f) { f({.name = "rows", .optional = true}, rows); }
};

// accepted-data.json.
struct AcceptedData {
  std::string checkpoint = {};
  DataMember data = {};

  void fields(config::Fields& f) {
    f({.name = "checkpoint"}, checkpoint);
    data.fields(f);
  }
};

fs::path accepted_file(const fs::path& checkpoint) { return checkpoint.parent_path() / kAccepted; }

// Returns the other data with which a run resumed from this checkpoint, if any.
std::optional<std::vector<DataFile>> accepted_data(const fs::path& checkpoint) {
  std::error_code unreadable;
  if (!fs::exists(accepted_file(checkpoint), unreadable)) return {};
  const auto accepted = read_kept<AcceptedData>(accepted_file(checkpoint));
  return accepted.checkpoint == checkpoint.filename().string() ? accepted.data.data : std::nullopt;
}

}  // namespace

std::vector<DataFile> data_files(const config::Experiment& experiment) {
  const std::vector<Graph> graphs = graphs_of(experiment);
  std::vector<DataFile> files;
  for (const auto& named : config::named_files(experiment)) {
    const auto is_named = [&](const Graph& graph) { return graph.key == named.key; };
    if (!names_data(named.key) || std::any_of(graphs.begin(), graphs.end(), is_named)) continue;
    if (named.object) {
      files.push_back(state_of(named.key, *named.object));
      continue;
    }
    std::error_code unreadable;
    if (!fs::is_directory(named.path, unreadable)) {
      add_file(files, named.key, named.path);
      continue;
    }
    std::vector<DataFile> below;
    for (const fs::path& path : files_below(named.path)) add_file(below, named.key, path);
    if (below.size() > kFilesByName) below = by_folder(below);
    std::move(below.begin(), below.end(), std::back_inserter(files));
  }
  for (const Graph& graph : graphs) {
    if (!graph.hash.empty())
      files.push_back({.key = graph.key, .path = graph.path, .bytes = graph.bytes, .hash = graph.hash});
  }
  return files;
}

void DataFile::fields(config::Fields& f) {
  f({.name = "key"}, key);
  f({.name = "path"}, path);
  f({.name = "bytes"}, bytes);
  f({.name = "modified", .range = config::at_least(-9e18), .optional = true}, modified);
  f({.name = "files", .optional = true}, files);
  f({.name = "hash", .optional = true}, hash);
  f({.name = "etag", .optional = true}, etag);
  f({.name = "version", .optional = true}, version);
}

std::vector<DataFile> files_of_checkpoint(const fs::path& checkpoint) {
  return data_of_checkpoint(checkpoint).value_or(std::vector<DataFile>());
}

DataDifference data_difference(const std::vector<DataFile>& then, const std::vector<DataFile>& now) {
  std::vector<Change> changes;
  const auto old_files = by_path(then);
  const auto new_files = by_path(now);
  for (const auto& [path, file] : old_files) {
    const auto found = new_files.find(path);
    const std::string what = found == new_files.end() ? "is missing" : change_of(*file, *found->second);
    // Former versions recorded the hidden files of folders, such as .DS_Store.
    const bool is_left_out = found == new_files.end() && is_hidden(path);
    if (!what.empty() && !is_left_out) changes.emplace_back(path, what);
  }
  for (const auto& [path, file] : new_files) {
    if (!old_files.contains(path)) changes.emplace_back(path, "is new: the checkpoint was trained without it");
  }
  return in_words(changes);
}

void require_same_data(const fs::path& checkpoint, const std::vector<DataFile>& now,
                       const std::vector<std::string>& set_keys) {
  const auto then = data_of_checkpoint(checkpoint);
  if (!then) return;
  const std::vector<DataFile> compared = without(now, set_keys);
  const DataDifference difference = data_difference(without(*then, set_keys), compared);
  if (difference.path.empty()) return;
  const auto accepted = accepted_data(checkpoint);
  if (accepted && data_difference(without(*accepted, set_keys), compared).path.empty()) return;
  // Data that are gone cannot be accepted.
  const std::vector<DataFile> before = without(*then, set_keys);
  const auto gone = std::find_if(before.begin(), before.end(), [&](const DataFile& file) {
    return std::none_of(compared.begin(), compared.end(), [&](const DataFile& one) { return one.key == file.key; });
  });
  throw usage_error(difference.what, difference.path,
                    gone == before.end() ? "restore the checkpoint's data, or accept the changed data: --data-changed"
                                         : "put it back, or name the place where it is now: --set " + gone->key + "=…");
}

std::optional<config::Rows> rows_of_checkpoint(const fs::path& checkpoint) {
  return read_kept<RowsMember>(checkpoint / "state.json").rows;
}

bool has_other_data(const fs::path& checkpoint, const config::Experiment& now) {
  std::vector<DataFile> then = files_of_checkpoint(checkpoint);
  std::vector<DataFile> files = data_files(now);
  for (auto* list : {&then, &files}) {
    std::erase_if(*list, [](const DataFile& file) { return !file.key.starts_with("dataset."); });
  }
  return !data_difference(then, files).path.empty();
}

void require_known_rows(const fs::path& checkpoint, const config::Rows& now, bool may_grow) {
  const std::optional<config::Rows> then = rows_of_checkpoint(checkpoint);
  std::string what;
  if (!then) {
    what = "an older version wrote the checkpoint, which does not say which rows it held out";
  } else if (now.count == then->count) {
    if (are_mostly_equal(then->marks, now.marks)) return;
    what = "the data have other rows than the run's, or in another order";
  } else {
    if (may_grow && now.known == then->marks) return;
    what = "the data have " + std::to_string(now.count) + " rows, and the run's had " + std::to_string(then->count) +
           (may_grow ? ", with which they do not begin" : "");
  }
  throw usage_error(what + ": the held-out rows cannot be told from those of training", checkpoint.string(),
                    config::kOtherRowsRemedy);
}

namespace {

config::Value preprocessing_file(const fs::path& checkpoint) {
  const fs::path file = checkpoint / "preprocessing.json";
  std::error_code none;
  if (!fs::exists(file, none)) return nullptr;
  const auto json = config::Value::parse(read_text(file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw usage_error("is damaged", file.string(), "use another checkpoint: --from");
  return json;
}

}  // namespace

config::Value fitted_to_data(const fs::path& checkpoint) {
  config::Value json = preprocessing_file(checkpoint);
  if (json.is_object() && json.erase(kDecision) > 0 && json.empty()) return nullptr;
  return json;
}

config::Value decision_of(const fs::path& checkpoint) {
  const config::Value json = preprocessing_file(checkpoint);
  return json.is_object() ? json.value(kDecision, config::Value()) : config::Value();
}

namespace {

// Throws if a list of names differs from the training's. Only the first differing names are shown.
void require_same_names(const std::string& what, const config::Value& then, const config::Value& now) {
  if (then == now) return;
  std::size_t i = 0;
  while (i < then.size() && i < now.size() && then[i] == now[i]) ++i;
  const auto name = [i](const config::Value& names) { return i < names.size() ? names[i].dump() : "none"; };
  throw usage_error("number " + std::to_string(i) + " of " + what + " of these data is " + name(now) +
                        ", and the run trained with " + name(then) +
                        ": the trained weights would take one for the other",
                    "dataset", "keep them as in the training, or train a new run on these data");
}

}  // namespace

void require_trained_meanings(const fs::path& checkpoint, const config::Value& now) {
  const config::Value then = fitted_to_data(checkpoint);
  if (!then.is_object() || !now.is_object()) return;
  const auto both_have = [&](const char* key) { return then.contains(key) && now.contains(key); };
  const auto names_of = [](const config::Value& features) {
    config::Value names = config::Value::array();
    for (const config::Value& feature : features) names.push_back(feature.value("name", ""));
    return names;
  };
  if (both_have("features")) {
    const config::Value &before = then.at("features"), &after = now.at("features");
    require_same_names("the features", names_of(before), names_of(after));
    for (std::size_t i = 0; i < before.size(); ++i) {
      require_same_names("the categories of " + config::in_quotes(before[i].value("name", "")),
                         before[i].value("categories", config::Value::array()),
                         after[i].value("categories", config::Value::array()));
    }
  }
  for (const auto& [key, what] : {std::pair("targets", "the targets"), std::pair("classes", "the classes")}) {
    if (both_have(key)) require_same_names(what, then.at(key), now.at(key));
  }
  if (both_have("tokenizer") && then.at("tokenizer") != now.at("tokenizer")) {
    throw usage_error(
        "the data give other tokens than in the training: the trained weights would take one for the other", "dataset",
        "give dataset.tokenizer as in the training, or train a new run on these data");
  }
}

void accept_data(const fs::path& checkpoint, const std::vector<DataFile>& now) {
  const auto then = data_of_checkpoint(checkpoint);
  if (!then || data_difference(*then, now).path.empty()) {
    std::error_code not_there;
    fs::remove(accepted_file(checkpoint), not_there);
    return;
  }
  const AcceptedData accepted{.checkpoint = checkpoint.filename().string(), .data = {now}};
  write_atomically(accepted_file(checkpoint),
                   config::written(accepted).dump(1, ' ', false, config::Value::error_handler_t::replace) + "\n");
}

namespace {

constexpr std::ptrdiff_t kMostFilesRead = 64;
constexpr std::uint64_t kSamples = 64;
constexpr std::uint64_t kSampleSize = 64 << 10;

// Pieces at equal distances, the first and the last bytes among them: other rows, or the same rows in another order,
// change some of them. A start reads 4 MiB at most of each file.
std::string content_of(const std::string& path) try {
  const InputFile in(path);
  if (in.size() <= kSamples * kSampleSize) return hash_hex_of(path);
  std::string read(kSamples * kSampleSize, '\0');
  for (std::uint64_t n = 0; n < kSamples; ++n) {
    in.read((in.size() - kSampleSize) / (kSamples - 1) * n, read.data() + n * kSampleSize, kSampleSize);
  }
  return hash_hex(read);
} catch (const Error&) {
  return "";  // the data's own error names the file
}

// Files of the model may have any name.
std::string name_of(const DataSample& file) {
  return names_part(file.key) ? file.key : file.key + " " + fs::path(file.path).filename().string();
}

std::string place_of(const DataSample& file) { return file.key + ": " + file.path + " "; }

// Returns "" if both are the same.
std::string change_of_sample(const DataSample& first, const DataSample& second) {
  if (name_of(first) != name_of(second)) return "is there in place of " + first.path;
  const bool are_folders = first.files > 0 && second.files > 0;
  const auto counted = [&](const DataSample& file) { return are_folders ? file.files : file.bytes; };
  if (counted(first) != counted(second)) {
    return "has " + std::to_string(counted(second)) + (are_folders ? " files" : " bytes") + ", not " +
           std::to_string(counted(first));
  }
  if (first.bytes != second.bytes) return "has files of other sizes";
  return first.content == second.content ? "" : "has another content of the same size";
}

}  // namespace

std::vector<DataSample> content_samples(const std::vector<DataFile>& files) {
  const auto read = std::count_if(files.begin(), files.end(), [](const auto& file) { return !is_graph(file); });
  std::vector<DataSample> samples;
  for (const DataFile& file : files) {
    std::string content = is_graph(file) ? file.hash : "";
    const bool is_object = is_url(file.path);
    if (is_object) content = file.etag + file.version + std::to_string(file.modified);
    if (!is_object && !is_graph(file) && file.files == 0 && read <= kMostFilesRead) content = content_of(file.path);
    samples.push_back({file.key, file.path, file.bytes, content, file.files});
  }
  return samples;
}

std::string hash_of_samples(const std::vector<DataSample>& samples) {
  std::string text;
  for (const DataSample& file : samples) {
    text += name_of(file) + '\0' + std::to_string(file.bytes) + " " +
            (file.files > 0 ? std::to_string(file.files) : "null") + " " + file.content + '\0';
  }
  return hash_hex(text);
}

std::string sample_difference(const std::vector<DataSample>& first, const std::vector<DataSample>& second) {
  const std::size_t both = std::min(first.size(), second.size());
  for (std::size_t i = 0; i < both; ++i) {
    const std::string change = change_of_sample(first[i], second[i]);
    if (!change.empty()) return place_of(second[i]) + change;
  }
  if (first.size() == second.size()) return "";
  return second.size() > both ? place_of(second[both]) + "is there only" : place_of(first[both]) + "is missing";
}

}  // namespace ddp::record
