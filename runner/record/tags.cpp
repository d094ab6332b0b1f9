#include "record/tags.h"

#include <set>
#include <string_view>

#include "base/error.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"

namespace ddp::record {
namespace {

constexpr std::size_t kLongestTag = 64;
constexpr std::uint64_t kLargestTags = 1 << 20;  // bytes of the file

bool is_tag(const std::string& name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= kLongestTag && name.front() != '-' &&
         name.find_first_not_of(kAllowed) == std::string::npos;
}

// Returns nothing if the file is damaged.
std::optional<Tags> in_file(const RunDirectory& run) try {
  std::error_code unreadable;
  if (!std::filesystem::exists(run.tags(), unreadable)) return Tags{};
  auto tags = config::read_written<Tags>(config::parse_value(read_text(run.tags(), kLargestTags)));
  std::erase_if(tags.names, [](const std::string& name) { return !is_tag(name); });
  const std::set<std::string> sorted(tags.names.begin(), tags.names.end());
  tags.names.assign(sorted.begin(), sorted.end());
  return tags;
} catch (const std::exception&) {
  return {};
}

}  // namespace

void Tags::fields(config::Fields& f) {
  f({"tags", "the user's tags, sorted"}, names);
  f({.name = "note", .doc = "the user's; null: none", .may_be_null = true}, note);
}

void require_tag(const std::string& name) {
  if (is_tag(name)) return;
  throw usage_error(config::in_quotes(name) + " cannot be a tag", "",
                    "use up to 64 ASCII letters, digits, '.', '_' and '-', and no '-' first");
}

Tags read_tags(const RunDirectory& run) { return in_file(run).value_or(Tags{}); }

Tags change_tags(const RunDirectory& run, const TagChange& change) try {
  const FileDescriptor turn = take_turn(run.path().parent_path());
  const auto before = in_file(run);
  if (!before) throw usage_error("is damaged", run.tags().string(), "remove it; its tags are lost");
  std::set<std::string> names(before->names.begin(), before->names.end());
  names.insert(change.added.begin(), change.added.end());
  for (const std::string& name : change.removed) names.erase(name);
  Tags now{.names = {names.begin(), names.end()}, .note = change.note.value_or(before->note)};
  constexpr auto kReplace = config::Value::error_handler_t::replace;
  write_atomically(run.tags(), config::written(now).dump(2, ' ', false, kReplace) + "\n");
  return now;
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

}  // namespace ddp::record
