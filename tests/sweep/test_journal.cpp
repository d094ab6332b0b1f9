#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "catch.h"
#include "scratch_folder.h"
#include "sweep/journal.h"

namespace ddp::sweep {
namespace fs = std::filesystem;
namespace {

const std::string kStarted = R"({"event":"started","trial":0,"until_epoch":2,"parameters":{"b":1,"a":2}})";
const std::string kPaused = R"({"event":"paused","trial":0,"epochs":2,"metric":0.5,"seconds":1.5})";

struct File : ScratchFolder {
  fs::path path() const { return folder() / "journal.jsonl"; }
  void write(const std::string& text) const { ScratchFolder::write("journal.jsonl", text); }
  std::string text() const { return read("journal.jsonl"); }
};

std::string damage(const std::string& line) {
  try {
    parse_journal(kStarted + "\n" + line + "\n");
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a journal gives back the events that were added to it") {
  const File file;
  CHECK(read_journal(file.path()).empty());
  Journal journal(file.path());
  journal.begin("asha", 3);
  journal.add({.kind = "started", .trial = 2, .until_epoch = 4, .parameters = {{"optimizer.lr", 0.1}, {"a", "x\n"}}});
  journal.add({.kind = "paused", .trial = 2, .epochs = 4, .metric = 0.1, .seconds = 2.5});
  journal.add({.kind = "failed", .trial = 1, .epochs = 0, .seconds = 0, .error = "no \xFF room"});
  journal.add({.kind = "finished", .trial = 2, .epochs = 5, .metric = 0.1, .stopped_by = "patience"});
  const auto events = read_journal(file.path());
  REQUIRE(events.size() == 4);
  CHECK(events[0].trial == 2);
  CHECK(events[0].until_epoch == 4);
  CHECK(events[0].parameters.dump() == R"({"optimizer.lr":0.1,"a":"x\n"})");
  CHECK(events[1].metric == 0.1);
  CHECK(events[1].seconds == 2.5);
  CHECK_FALSE(events[2].metric);
  CHECK(events[2].error.starts_with("no "));
  CHECK(events[2].stopped_by.empty());
  CHECK(events[3].stopped_by == "patience");
}

TEST_CASE("an incomplete line is not an event and is removed when the journal is opened again") {
  for (std::size_t cut = 0; cut < kPaused.size(); ++cut) {
    const File file;
    file.write(kStarted + "\n" + kPaused.substr(0, cut));
    CHECK(read_journal(file.path()).size() == 1);
    Journal journal(file.path());
    CHECK(file.text() == kStarted + "\n");
    journal.add({.kind = "interrupted", .trial = 0});
    CHECK(read_journal(file.path()).size() == 2);
  }
}

TEST_CASE("a journal that is damaged is refused with its line") {
  CHECK(damage(kPaused) == "");
  for (const std::string line :
       {"{", "[]", "3", R"({"trial":0})", R"({"event":"ended","trial":0})", R"({"event":"started","trial":-1})",
        R"({"event":"started","trial":1e9,"until_epoch":0,"parameters":{}})",
        R"({"event":"started","trial":0,"until_epoch":0,"parameters":[]})",
        R"({"event":"paused","trial":0,"epochs":2,"metric":"x","seconds":1})",
        R"({"event":"paused","trial":0,"epochs":2,"metric":1,"seconds":-1})",
        R"({"event":"failed","trial":0,"epochs":2,"metric":null,"seconds":1})"}) {
    INFO(line);
    CHECK(damage(line).starts_with("line 2: "));
  }
  const File file;
  file.write("no\n");
  CHECK_THROWS_AS(read_journal(file.path()), Error);
}

}  // namespace ddp::sweep
