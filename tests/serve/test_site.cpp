#include "serve/site.h"

#include <filesystem>
#include <string>
#include <vector>

#include "catch.h"
#include "scratch_folder.h"
#include "serve/feed.h"

namespace ddp::serve {
namespace fs = std::filesystem;
namespace {

using config::Value;

std::string summary_with(const std::string& name, int epochs, double loss) {
  return Value{{"version", 1},     {"status", "completed"},
               {"name", name},     {"started", "2026-11-21T21:04:05Z"},
               {"epochs", epochs}, {"final", {{"train_loss", loss}}}}
      .dump();
}

void write_run(const ScratchFolder& scratch, const std::string& run, int epochs, double loss) {
  scratch.write("results/" + run + "/config.toml", "");
  scratch.write("results/" + run + "/summary.json", summary_with(run.substr(0, run.find('/')), epochs, loss));
}

struct Served {
  const ScratchFolder scratch;
  Site site{{.results = scratch.folder() / "results"}};

  Served() {
    write_run(scratch, "one/a", 3, 0.5);
    write_run(scratch, "one/b", 7, 0.25);
    write_run(scratch, "two/c", 5, 0.125);
  }
  // The names in the list, in its order.
  std::vector<std::string> list(const Parameters& parameters) {
    std::vector<std::string> names;
    const Value data = site.find("/", parameters)->now();
    for (const Value& row : data["rows"]) names.push_back(row["run"].get<std::string>());
    return names;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the list of a server filters and sorts as list does, and says what is wrong with a condition") {
  Served served;
  CHECK(served.list({{"where", "epochs>=5"}, {"sort", "train_loss"}}) == Names{"two/c", "one/b"});
  CHECK(served.list({{"where", "name=one"}, {"sort", "-epochs"}}) == Names{"one/b", "one/a"});
  const Value few = served.site.find("/", {{"sort", "epochs"}, {"limit", "2"}})->now();
  CHECK(few["rows"].size() == 2);
  CHECK(few["matching"] == 3);
  CHECK(few["columns"][0] == Value{{"name", "run"}, {"right", false}, {"key", "run"}});
  const Value wrong = served.site.find("/", {{"where", "epochs >"}})->now();
  CHECK(wrong["rows"].empty());
  CHECK(wrong["problems"][0].get<std::string>().find("is not a condition") != std::string::npos);
}

TEST_CASE("a server knows runs by their names in the list alone") {
  Served served;
  served.scratch.write("secret/config.toml", "");
  fs::create_directory_symlink("../../secret", served.scratch.folder() / "results/one/linked");
  fs::create_directory_symlink("b", served.scratch.folder() / "results/one/latest");
  // The name of an experiment stands for its newest run; a link was made by the owner of the results.
  for (const std::string run : {"one/a", "one", "one/linked"}) CHECK(served.site.find("/report", {{"run", run}}));
  for (const std::string run : {"../secret", "one/../one/a", "one/latest", "one/a/", "/", "on", ""}) {
    INFO(run);
    CHECK_FALSE(served.site.find("/report", {{"run", run}}));
  }
  CHECK_FALSE(served.site.find("/report", {{"run", (served.scratch.folder() / "results/one/a").string()}}));
  CHECK_FALSE(served.site.find("/report", {{"run", "one/a"}, {"run", "two/x"}}));
  CHECK_FALSE(served.site.find("/report", {}));
  CHECK_FALSE(served.site.find("/report/one/a", {}));
  CHECK(served.site.find("/report", {{"run", "two/c"}, {"run", "one/a"}}));
}

TEST_CASE("a server shows nothing of a run with a link out of the results folder") {
  Served served;
  served.scratch.write("secret/summary.json", summary_with("taken", 1, 1));
  const fs::path run = served.scratch.folder() / "results/one/b";
  fs::create_directories(run / "checkpoints/step-1");
  fs::create_directory_symlink("step-1", run / "checkpoints/latest");
  CHECK(served.list({{"sort", "run"}}) == Names{"one/a", "one/b", "two/c"});

  SECTION("of its summary") {
    fs::remove(run / "summary.json");
    fs::create_symlink("../../../secret/summary.json", run / "summary.json");
  }
  SECTION("of a file inside") { fs::create_symlink("/etc/hostname", run / "checkpoints/step-1/model.safetensors"); }
  Site fresh({.results = served.scratch.folder() / "results"});
  const Value data = fresh.find("/", {})->now();
  CHECK(data["rows"].size() == 2);
  CHECK(data["problems"][0].get<std::string>().find("leads out of the results folder") != std::string::npos);
  CHECK_FALSE(fresh.find("/report", {{"run", "one/b"}}));
}

TEST_CASE("a listing reads a run again if its files have changed") {
  const Served served;
  report::Listing listing(served.scratch.folder() / "results");
  CHECK(listing.read());
  CHECK(listing.rows().size() == 3);
  CHECK_FALSE(listing.read());
  write_run(served.scratch, "one/a", 30, 0.5);
  CHECK(listing.read());
  CHECK(listing.rows().front().as_run()->epochs == 30);
  served.scratch.write("results/one/b/metrics.jsonl", "{}\n");
  CHECK(listing.read());
  fs::remove_all(served.scratch.folder() / "results/two");
  CHECK(listing.read());
  CHECK(listing.rows().size() == 2);
  CHECK_FALSE(listing.read());
}

TEST_CASE("a change names the changed members and items alone") {
  const Value before = {{"steps", {1, 2, 3}}, {"run", {{"status", "running"}, {"name", "a"}}}, {"error", "x"}};
  const Value after = {{"steps", {1, 2, 4, 8}}, {"run", {{"status", "completed"}, {"name", "a"}}}};
  CHECK(change(before, after) == Value{{"steps", {{"$length", 4}, {"$at", {2, 3}}, {"$items", {4, 8}}}},
                                       {"run", {{"status", "completed"}}},
                                       {"error", nullptr}});
  CHECK(change(after, after) == Value::object());
  CHECK(change(Value{1, 2}, Value{1}) == Value{{"$length", 1}, {"$at", Value::array()}, {"$items", Value::array()}});
}

TEST_CASE("a feed gives all data first, then each change once, and keeps them if they cannot be read any more") {
  int reads = 0;
  Feed feed([&]() -> std::optional<Value> {
    if (++reads > 2) throw std::runtime_error("it has gone");
    return Value{{"written", "now"}, {"step", reads}};
  });
  std::int64_t seen = 0;
  CHECK(Value::parse(feed.next(seen)) == Value{{"written", "now"}, {"step", 1}});
  CHECK(Value::parse(feed.next(seen)) == Value{{"step", 2}});
  CHECK(Value::parse(feed.next(seen)) == Value{{"problems", {"it has gone"}}});
  CHECK(feed.now()["step"] == 2);
  std::int64_t late = 0;
  CHECK(Value::parse(feed.next(late))["step"] == 2);
}

}  // namespace ddp::serve
