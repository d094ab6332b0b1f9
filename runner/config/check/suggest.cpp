#include "config/check/suggest.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace ddp::config {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The number of insertions, deletions, replacements and swaps of neighbours that turn one text into the other (optimal
// string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::move(last);
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Returns the first letter of each word: "dp" for "data_parallel".
std::string initials(const std::string& name) {
  std::string letters;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i == 0 || name[i - 1] == '_') letters += name[i];
  }
  return letters;
}

// Returns the shortest candidate that begins with `name`, or else the one whose words have these first letters; empty
// if no candidate does.
std::string shortened(const std::string& name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kShortestBeginning = 3;
  const std::string given = lower(name);
  std::string longer;
  std::string words;
  for (const std::string& candidate : candidates) {
    const std::string whole = lower(candidate);
    if (given == whole) return candidate;
    const bool begins = given.size() >= kShortestBeginning && whole.starts_with(given);
    if (begins && (longer.empty() || candidate.size() < longer.size())) longer = candidate;
    if (words.empty() && given.size() > 1 && initials(whole) == given) words = candidate;
  }
  return longer.empty() ? words : longer;
}

// Returns the name without case, "_" and "-"; of "torch.optim.AdamW" the last part, as of a key with its section.
std::string plain(const std::string& name) {
  std::string text;
  for (const char c : lower(name.substr(name.rfind('.') + 1))) {
    if (c != '_' && c != '-') text += c;
  }
  return text;
}

std::string path_of(const Named& one) { return one.path.empty() ? one.name : one.path; }

std::string listed(const std::vector<std::string>& candidates, const std::string& what) {
  std::string text;
  for (const std::string& candidate : candidates) text += (text.empty() ? "" : ", ") + candidate;
  return what + ": " + (text.empty() ? "none" : text);
}

// Returns the path of the longest name that begins the typed one: "cross_entropy" for "CrossEntropyLoss".
std::string beginning_of(const std::string& typed, const std::vector<Named>& known) {
  constexpr std::size_t kShortestName = 4;
  const std::string whole = plain(typed);
  const Named* longest = nullptr;
  for (const Named& one : known) {
    const bool begins = one.name.size() >= kShortestName && whole.starts_with(plain(one.name));
    if (begins && (longest == nullptr || one.name.size() > longest->name.size())) longest = &one;
  }
  return longest == nullptr ? "" : path_of(*longest);
}

// Returns the path of the first name with the typed one among its words: "val_rmse" for "rmse".
std::string with_word(const std::string& typed, const std::vector<Named>& known) {
  const auto has = [&](const Named& one) {
    return ("_" + one.name + "_").find("_" + typed + "_") != std::string::npos;
  };
  const auto found = std::find_if(known.begin(), known.end(), has);
  return found == known.end() || typed.empty() ? "" : path_of(*found);
}

// The nearest name in a folder. Endings do not make two names alike: "gone.toml" is not near "new.toml".
std::string nearest_file(const std::string& name, const std::filesystem::path& folder) {
  const std::string ending = std::filesystem::path(name).extension().string();
  std::vector<std::string> stems;
  std::vector<std::string> others;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::filesystem::path file = entry->path().filename();
    const bool is_same_kind = file.extension() == ending;
    (is_same_kind ? stems : others).push_back((is_same_kind ? file.stem() : file).string());
  }
  std::sort(stems.begin(), stems.end());
  std::sort(others.begin(), others.end());
  const std::string stem = nearest(std::filesystem::path(name).stem().string(), stems);
  return stem.empty() ? nearest(name, others) : stem + ending;
}

// Adds the keys of a section, once for each name.
void add_keys(const std::vector<Option>& options, const std::string& section, std::vector<Named>& keys) {
  for (const Option& option : options) {
    const std::string path = section + option.name;
    const auto same = std::find_if(keys.begin(), keys.end(), [&](const Named& key) { return key.path == path; });
    if (same == keys.end()) {
      keys.push_back({.name = option.name, .aliases = option.aliases, .path = path});
    } else if (same->aliases.empty()) {
      same->aliases = option.aliases;
    }
  }
}

}  // namespace

std::string same_name(const std::string& typed, const std::vector<Named>& known) {
  const std::string wanted = plain(typed);
  const auto is_same = [&](const std::string& name) { return plain(name) == wanted; };
  for (const Named& one : known) {
    if (is_same(one.name)) return path_of(one);
  }
  for (const Named& one : known) {
    if (std::any_of(one.aliases.begin(), one.aliases.end(), is_same)) return path_of(one);
  }
  return "";
}

std::string nearest_name(const std::string& typed, const std::vector<Named>& known) {
  if (std::string same = same_name(typed, known); !same.empty()) return same;
  std::vector<std::string> names;
  for (const Named& one : known) names.push_back(one.name);
  for (const Named& one : known) names.insert(names.end(), one.aliases.begin(), one.aliases.end());
  const std::string near = nearest(typed, names);
  if (!near.empty()) return same_name(near, known);
  const std::string begun = beginning_of(typed, known);
  return begun.empty() ? with_word(typed, known) : begun;
}

std::string remedy_of_name(const std::string& typed, const std::vector<Named>& known, const std::string& what) {
  if (const std::string near = nearest_name(typed, known); !near.empty()) return did_you_mean(near);
  std::vector<std::string> names;
  for (const Named& one : known) names.push_back(one.name);
  return listed(names, what);
}

std::vector<Named> named(const std::vector<Option>& options) {
  std::vector<Named> names;
  for (const Option& option : options) names.push_back({.name = option.name, .aliases = option.aliases});
  return names;
}

std::vector<Named> named(const std::vector<Spec>& specs) {
  std::vector<Named> names;
  for (const Spec& spec : specs) {
    names.push_back({.name = spec.name, .aliases = spec.traits.value("aliases", std::vector<std::string>())});
  }
  return names;
}

std::vector<Named> named(const std::map<std::string, Spec>& specs) {
  std::vector<Spec> list;
  for (const auto& [name, spec] : specs) list.push_back(spec);
  return named(list);
}

std::vector<Named> keys_of(const std::vector<Option>& options, const Components& components) {
  std::vector<Named> keys;
  add_keys(options, "", keys);
  for (const Option& option : options) add_keys(option.section, option.name + ".", keys);
  for (const Option& option : options) {
    if (option.component_kind.empty()) continue;
    for (const auto& [name, spec] : components.of(option.component_kind)) {
      add_keys(spec.options, option.name + ".", keys);
    }
  }
  return keys;
}

std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;
  if (name.size() > kLongest) return "";
  std::string best = shortened(name, candidates);
  if (!best.empty()) return best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t shorter = std::min(name.size(), candidate.size());
    // At most a third of the letters may differ; otherwise short names match everything.
    if (3 * (longer - shorter) > longer + 1) continue;
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    if (3 * distance > longer + 1) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string file_like(const std::filesystem::path& missing) {
  std::error_code error;
  std::filesystem::path known;
  for (auto part = missing.begin(); part != missing.end(); ++part) {
    if (std::filesystem::exists(known / *part, error)) {
      known /= *part;
      continue;
    }
    const std::string near = nearest_file(part->string(), known.empty() ? "." : known);
    if (near.empty()) return "";
    std::filesystem::path meant = known / near;
    for (++part; part != missing.end(); ++part) meant /= *part;
    return std::filesystem::exists(meant, error) ? meant.string() : "";
  }
  return "";
}

std::string did_you_mean(const std::string& name) { return name.empty() ? "" : "did you mean \"" + name + "\"?"; }

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates, const std::string& what) {
  if (const std::string near = nearest(name, candidates); !near.empty()) return did_you_mean(near);
  return listed(candidates, what);
}

}  // namespace ddp::config
