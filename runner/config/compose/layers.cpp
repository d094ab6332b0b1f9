#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "config/check/phrases.h"
#include "config/compose/compose.h"
#include "config/text/toml_reader.h"

namespace ddp::config {
namespace {

constexpr std::size_t kMaxLayers = 16;
constexpr std::uintmax_t kMaxBytes = 1 << 20;  // no experiment file written by a person is larger

// The text of a file, or the reason why it cannot be read.
struct Text {
  std::string text = {};
  std::string error = {};
};

Text read_text(const std::filesystem::path& path) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (status.type() == std::filesystem::file_type::not_found) return {.error = "there is no such file"};
  if (code) return {.error = code.message()};
  if (std::filesystem::is_directory(status)) return {.error = "it is a directory"};
  if (!std::filesystem::is_regular_file(status)) return {.error = "it is not a regular file"};
  const std::uintmax_t bytes = std::filesystem::file_size(path, code);
  if (code) return {.error = code.message()};
  if (bytes > kMaxBytes) return {.error = "it is larger than 1 MiB: not an experiment file"};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {.error = std::strerror(errno)};
  std::string text(bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(bytes));
  if (stream.bad()) return {.error = "it cannot be read"};
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return {.text = std::move(text)};
}

// Returns the remedy for a file of data or of a model, by its ending; empty: it may be an experiment file.
std::string remedy_for_other_kind(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  const std::string name = in_quotes(file.filename().string());
  const auto data = {".csv", ".tsv", ".txt", ".jsonl", ".parquet", ".npy", ".npz", ".tar", ".safetensors"};
  if (std::find(data.begin(), data.end(), ending) != data.end()) {
    return "give an experiment file (.toml); its [dataset] names the data: path = " + name;
  }
  if (ending != ".pt2") return "";
  return "give an experiment file (.toml) that trains this model: model = { name = \"exported\", path = " + name + " }";
}

// Returns the experiment file that a name without its ending or its folder means: "experiments/basic.toml" for "basic".
// Empty: there is none.
std::string file_meant(const std::filesystem::path& file) {
  const std::filesystem::path experiments = file.parent_path() / "experiments" / file.filename();
  for (const std::filesystem::path& place : {file, experiments}) {
    for (const char* ending : {"", ".toml"}) {
      std::error_code code;
      const std::string name = place.string() + ending;
      if (name.ends_with(".toml") && std::filesystem::is_regular_file(name, code)) return name;
    }
  }
  return "";
}

// Returns a remedy for a folder, or for a file that does not exist: the experiment file of the same folder that the
// name probably means, or the list of them, relative as `written` is. Empty: there are none.
std::string files_like(const std::filesystem::path& file, const std::filesystem::path& written) {
  std::error_code code;
  const bool is_folder = std::filesystem::is_directory(file, code);
  if (!is_folder && std::filesystem::exists(file, code)) return "";
  const std::string meant = is_folder ? "" : file_meant(file);
  if (!meant.empty()) return "did you mean \"" + printable(meant) + "\"?";
  const std::filesystem::path folder = is_folder ? file : file.parent_path();
  const std::filesystem::path shown_in = is_folder ? written : written.parent_path();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, code)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".toml") && !name.starts_with('.')) names.push_back(name);
  }
  if (names.empty()) return "";
  const std::string near = is_folder ? "" : nearest_file(file.filename().string(), names);
  if (!near.empty()) return "did you mean \"" + printable((shown_in / near).string()) + "\"?";
  for (std::string& name : names) name = (shown_in / name).string();
  std::sort(names.begin(), names.end());
  return suggestion("", names, "experiment files there");
}

// Returns a remedy for a file that another one extends as `written` and that does not exist. Its names are relative to
// the other file, as the written one is.
std::string remedy_of_extends(const std::filesystem::path& file, const std::filesystem::path& written) {
  const std::string name = file.string();
  const bool is_of_shell = name.find('~') != std::string::npos || name.find('$') != std::string::npos;
  return is_of_shell ? "write the whole path: only a shell replaces ~ and $NAME" : files_like(file, written);
}

// Follows `extends` from file to file.
class LayerReader {
 public:
  explicit LayerReader(Problems& problems) : problems_(problems) {}

  std::optional<std::vector<Node>> read(std::filesystem::path file) {
    while (true) {
      if (!read_layer(file)) return std::nullopt;
      const auto extends = layers_.back().entries.find("extends");
      if (extends == layers_.back().entries.end()) return std::move(layers_);
      extends_ = extends->second;
      layers_.back().entries.erase(extends);
      const std::optional<std::string> name = extends_->text();
      if (!name || name->empty() || name->find('\0') != std::string::npos) {
        const bool is_list = extends_->kind == Kind::list && !extends_->items.empty();
        const std::string first = is_list ? extends_->items.front().text().value_or("") : "";
        return fail("\"extends\" must be the name of a file, not " + shown(*extends_),
                    first.empty() ? ""
                    : extends_->items.size() == 1
                        ? "give extends = " + in_quotes(first)
                        : "give extends = " + in_quotes(first) + "; that file can extend the next one in turn");
      }
      file = (file.parent_path() / *name).lexically_normal();
    }
  }

 private:
  bool read_layer(const std::filesystem::path& file) {
    std::error_code code;
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(file, code);
    if (std::find(seen_.begin(), seen_.end(), canonical) != seen_.end()) {
      fail("this file extends itself", chain(canonical));
      return false;
    }
    if (seen_.size() == kMaxLayers) {
      fail("more than " + std::to_string(kMaxLayers) + " files extend each other");
      return false;
    }
    Text read = read_text(file);
    const auto source = Source::file(file, std::move(read.text), static_cast<int>(layers_.size()));
    if (!read.error.empty()) {
      if (extends_) {
        fail("cannot read " + in_quotes(file.string()) + ": " + read.error, remedy_of_extends(file, *extends_->text()));
      } else {
        problems_.add({.source = source}, read.error, files_like(file, file));
      }
      return false;
    }
    Problems of_other_kind;
    const std::string remedy = remedy_for_other_kind(file);
    std::optional<Node> layer = parse_toml(source, source->text(), remedy.empty() ? problems_ : of_other_kind);
    if (!of_other_kind.empty()) {
      problems_.add({.source = source}, "this is not an experiment file, which is TOML", remedy);
    }
    if (!layer) return false;
    layer->place = {.source = source};
    seen_.push_back(canonical);
    layers_.push_back(std::move(*layer));
    return true;
  }

  // "a.toml -> b.toml -> a.toml"
  std::string chain(const std::filesystem::path& again) const {
    std::string text;
    for (auto it = std::find(seen_.begin(), seen_.end(), again); it != seen_.end(); ++it) {
      text += it->filename().string() + " -> ";
    }
    return printable(text + again.filename().string());
  }

  std::nullopt_t fail(const std::string& what, const std::string& remedy = "") {
    problems_.add(extends_->place, what, remedy);
    return std::nullopt;
  }

  Problems& problems_;
  std::vector<Node> layers_;
  std::vector<std::filesystem::path> seen_;
  std::optional<Node> extends_;  // the value that led to the current file
};

}  // namespace

std::optional<std::vector<Node>> read_layers(const std::filesystem::path& file, Problems& problems) {
  return LayerReader(problems).read(file);
}

}  // namespace ddp::config
