#include "config/text/source.h"

#include <algorithm>
#include <tuple>

namespace ddp::config {
namespace {

constexpr std::size_t kShownColumns = 100;  // columns of a source line
constexpr std::size_t kBefore = 40;         // columns before the place, in a line that must be cut
constexpr std::size_t kQuoted = 60;
constexpr int kFirstAssignment = 1 << 20;

constexpr std::size_t kMostShown = 50;
constexpr std::size_t kLongRemedy = 100;  // such as the list of all keys

// The length in bytes of the well-formed UTF-8 sequence at the beginning of `text`; 0 if it begins with none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xC2 ? 0 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (length == 0 || byte(0) > 0xF4 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// Control characters, including C1, are shown as "?": a file must not control the terminal.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

// Removes the next character from the front of `text` and returns it in printable form.
std::string_view take_character(std::string_view& text) {
  const std::size_t length = sequence_length(text);
  const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
  text.remove_prefix(character.size());
  if (character == "\t") return " ";
  return length == 0 || is_control(character) ? "?" : character;
}

std::vector<std::size_t> find_lines(std::string_view text) {
  std::vector<std::size_t> starts = {0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts.push_back(i + 1);
  }
  return starts;
}

}  // namespace

Source::Source(std::string label, std::filesystem::path folder, std::string text, Kind kind, int rank)
    : label_(std::move(label)),
      folder_(std::move(folder)),
      text_(std::move(text)),
      kind_(kind),
      rank_(rank),
      line_starts_(find_lines(text_)),
      is_ascii_(std::all_of(text_.begin(), text_.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {}

std::shared_ptr<const Source> Source::file(const std::filesystem::path& path, std::string text, int rank) {
  const std::string label = path.empty() ? "\"\"" : printable(path.string());
  return std::shared_ptr<const Source>(new Source(label, path.parent_path(), std::move(text), Kind::file, rank));
}

std::shared_ptr<const Source> Source::assignment(int number, std::string text) {
  return std::shared_ptr<const Source>(
      new Source("--set " + std::to_string(number), "", std::move(text), Kind::assignment, kFirstAssignment + number));
}

std::shared_ptr<const Source> Source::option(int number, const std::string& name, std::string text) {
  return std::shared_ptr<const Source>(new Source(name, "", std::move(text), Kind::option, kFirstAssignment + number));
}

std::string_view Source::line(std::uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  const std::size_t begin = line_starts_[number - 1];
  const std::size_t end = number < line_starts_.size() ? line_starts_[number] - 1 : text_.size();
  std::string_view line = std::string_view(text_).substr(begin, end - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view text_at(const SourceRange& place) {
  std::string_view rest = place.source->line(place.line);
  // A long line of many values would else be read from its begin for each of them.
  if (place.source->is_ascii()) return rest.substr(std::min<std::size_t>(place.column - 1, rest.size()), place.width);
  for (std::uint32_t i = 1; i < place.column && !rest.empty(); ++i) take_character(rest);
  const std::string_view from = rest;
  for (std::uint32_t i = 0; i < place.width && !rest.empty(); ++i) take_character(rest);
  return from.substr(0, from.size() - rest.size());
}

bool before(const SourceRange& a, const SourceRange& b) {
  return std::tuple(a.source->rank(), a.line, a.column) < std::tuple(b.source->rank(), b.line, b.column);
}

bool is_of_command_line(const SourceRange& place) { return !place.source || !place.source->is_file(); }

std::string where(const SourceRange& place) {
  const std::string& label = place.source->label();
  if (place.line == 0 || !place.source->is_file()) return label;
  return label + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string excerpt(const SourceRange& place) {
  if (place.line == 0 || !place.source->is_shown()) return "";
  std::string_view rest = place.source->line(place.line);
  // A URL may hold a signature or a password.
  const std::size_t url = rest.find("://");
  if (url != rest.npos && rest.find_first_of("?@", url) != rest.npos) return "";
  const std::size_t column = std::max<std::uint32_t>(place.column, 1) - 1;
  const std::size_t first = rest.size() > kShownColumns && column > kBefore ? column - kBefore : 0;
  for (std::size_t i = 0; i < first && !rest.empty(); ++i) take_character(rest);
  std::string shown = first > 0 ? "…" : "";
  std::string carets(first > 0 ? 1 : 0, ' ');
  std::size_t at = first;
  for (; !rest.empty() && at < first + kShownColumns; ++at) {
    shown += take_character(rest);
    if (at < column) carets += ' ';
    if (at > column && at < column + place.width) carets += '~';
    if (at == column) carets += '^';
  }
  if (at <= column) carets += '^';  // at the end of the line, where something is missing
  if (!rest.empty()) shown += "…";

  std::string number = place.source->is_file() ? std::to_string(place.line) : "";
  number.insert(0, number.size() < 4 ? 4 - number.size() : 0, ' ');
  return number + " | " + shown + "\n" + std::string(number.size(), ' ') + " | " + carets;
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return text.substr(text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) shown += take_character(text);
  return shown;
}

std::string in_quotes(std::string_view text) {
  std::string shown = "\"";
  for (std::size_t i = 0; i < kQuoted && !text.empty(); ++i) shown += take_character(text);
  return shown + (text.empty() ? "\"" : "…\"");
}

void Mistakes::add(SourceRange place, const std::string& what, std::string remedy) {
  std::string text = printable(what);
  // The trials of a sweep repeat the mistakes of its file.
  if (!known_.emplace(place.source->rank(), place.line, place.column, text).second) return;
  all_.push_back({std::move(place), std::move(text), std::move(remedy)});
}

Error Mistakes::error() const {
  std::vector<Mistake> sorted = all_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Mistake& a, const Mistake& b) { return before(a.place, b.place); });
  if (sorted.size() > kMostShown) sorted.resize(kMostShown);
  std::string text;
  std::set<std::string> told;  // a long remedy is told once
  for (const Mistake& mistake : sorted) {
    text += (text.empty() ? "" : "\n") + config::where(mistake.place) + ": " + mistake.what;
    if (const std::string lines = excerpt(mistake.place); !lines.empty()) text += "\n" + lines;
    const bool is_told = mistake.remedy.size() > kLongRemedy && !told.insert(mistake.remedy).second;
    if (!mistake.remedy.empty() && !is_told) text += "\n  " + mistake.remedy;
  }
  if (all_.size() > sorted.size()) text += "\nand " + std::to_string(all_.size() - sorted.size()) + " more";
  return usage_error(text);
}

}  // namespace ddp::config
