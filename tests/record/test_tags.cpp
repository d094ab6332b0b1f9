#include "record/tags.h"

#include <sys/wait.h>
#include <unistd.h>

#include "catch.h"
#include "errors.h"
#include "record/file/atomic_file.h"
#include "record/summary.h"
#include "scratch_folder.h"
#include "started_run.h"
#include "words.h"

namespace ddp::record {
namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("tags are sorted, each once, and a change leaves what it does not name") {
  const ScratchFolder scratch;
  const RunDirectory run = started(scratch.folder(), "a", "1");
  CHECK(read_tags(run).names.empty());
  change_tags(run, {.added = {"b", "a", "b"}, .note = "first"});
  const Tags now = change_tags(run, {.added = {"c"}, .removed = {"a", "absent"}});
  CHECK(now.names == Names{"b", "c"});
  CHECK(now.note == "first");
  CHECK(read_tags(run).names == now.names);
  CHECK(change_tags(run, {.note = ""}).note.empty());
}

TEST_CASE("a tag is a word of up to 64 letters, digits, '.', '_' and '-'") {
  for (const std::string good : {"a", "Z.9_-", ".", "2026-11-27"}) CHECK(error_of([&] { require_tag(good); }).empty());
  CHECK(error_of([] { require_tag(std::string(64, 'x')); }).empty());
  for (const std::string& bad : Names{"", "-a", "a b", "a/b", "ä", std::string(65, 'x')}) {
    CHECK(contains(error_of([&] { require_tag(bad); }), "use up to 64 ASCII letters, digits"));
  }
}

TEST_CASE("processes that change tags at once lose none") {
  const ScratchFolder scratch;
  const RunDirectory run = started(scratch.folder(), "a", "1");
  constexpr int kProcesses = 4;
  constexpr int kTags = 50;
  for (int process = 0; process < kProcesses; ++process) {
    if (fork() != 0) continue;
    for (int i = 0; i < kTags; ++i) {
      change_tags(run, {.added = {std::to_string(process) + "." + std::to_string(i)}});
    }
    _exit(0);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = -1;
    CHECK((wait(&status) > 0 && status == 0));
  }
  CHECK(read_tags(run).names.size() == kProcesses * kTags);
}

TEST_CASE("a damaged file has no tags, and a change refuses it and leaves it") {
  const ScratchFolder scratch;
  const RunDirectory run = started(scratch.folder(), "a", "1");
  for (const std::string damage : {"", "[]", R"({"tags": 3, "note": null})", R"({"tags": ["a"])"}) {
    write_file(run.tags(), damage);
    CHECK(read_tags(run).names.empty());
    CHECK(contains(error_of([&] { change_tags(run, {.added = {"b"}}); }), "is damaged"));
    CHECK(content_of(run.tags()) == damage);
  }
  write_file(run.tags(), R"({"tags": ["b", "\u001b[2J", "a"], "note": null})");
  CHECK(read_tags(run).names == Names{"a", "b"});
}

TEST_CASE("the summary of an ended run follows its tags; that of a run that trains has them at its next writing") {
  const ScratchFolder scratch;
  const RunDirectory run = started(scratch.folder(), "a", "1");
  const auto tags = [&] { return last_summary(run).at("tags").get<Names>(); };
  Summary summary;
  write_summary(run, summary);
  change_tags(run, {.added = {"early"}});
  renew_tags(run);
  CHECK(tags().empty());
  summary.status = "completed";
  write_summary(run, summary);
  CHECK(tags() == Names{"early"});
  change_tags(run, {.added = {"late"}, .note = "why"});
  {
    const FileDescriptor written = run.lock();
    renew_tags(run);
    CHECK(tags() == Names{"early"});
  }
  renew_tags(run);
  CHECK(tags() == Names{"early", "late"});
  CHECK(last_summary(run).at("note") == "why");
  CHECK(last_summary(run).at("status") == "completed");
}

}  // namespace ddp::record
