#include <sys/resource.h>

#include "catch.h"
#include "finished_run.h"
#include "predicting.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const Words kKeepsAll = {"checkpoint={save_every_steps=7, keep_last=100}"};

void check_export_refused(const Workspace& w, Words arguments, const std::string& words) {
  const auto before = visible_files(w.folder());
  arguments.insert(arguments.begin(), "export");
  w.refused(arguments, {words});
  CHECK(visible_files(w.folder()) == before);
}

}  // namespace

TEST_CASE("export writes the weights of the chosen checkpoint and replaces a file whole") {
  const FinishedRun small(kSmall, kKeepsAll);
  const Workspace& w = small.workspace;
  const auto exported = [&](Words arguments) {
    arguments.insert(arguments.begin(), "export");
    const Outcome outcome = w.done(arguments);
    CHECK(outcome.out.empty());
    return text_of(w.folder() / "out.safetensors");
  };
  const std::string latest = exported({"small", "out.safetensors"});
  CHECK(latest == small.model);
  const std::string earlier = exported({"small", "out.safetensors", "--from", "7"});
  CHECK(earlier != latest);
  CHECK(earlier == text_of(small.run.checkpoint(7) / "model.safetensors"));
  CHECK(visible_files(w.folder()) == Words{"out.safetensors", "results", "small.toml"});
  // The exported weights start another run.
  w.done({"run", "small.toml", "--name", "begun", "--set", "init_from=\"out.safetensors\"", "--set", "epochs=1"});
}

TEST_CASE("export takes the best checkpoint of a run with validation") {
  const FinishedRun small(kSmall, {"validation.split=0.2", "optimizer.lr=0.5", "on_nan=\"skip\"", kKeepsAll.front()});
  const Workspace& w = small.workspace;
  w.done({"export", "small", "best.safetensors", "--from", "best"});
  w.done({"export", "small", "out.safetensors"});
  CHECK(text_of(w.folder() / "out.safetensors") == text_of(w.folder() / "best.safetensors"));
}

TEST_CASE("export refuses unsupported formats and leaves nothing") {
  const FinishedRun small(kSmall, {"epochs=1"});
  const Workspace& w = small.workspace;
  check_export_refused(w, {"small", "out.pt2"}, "torch.export");
  check_export_refused(w, {"small", "out.pt"}, ".safetensors");
  check_export_refused(w, {"small", "out"}, ".safetensors");
  check_export_refused(w, {"small"}, "OUT");
  check_export_refused(w, {"nobody", "out.safetensors"}, "nobody");
  check_export_refused(w, {"small", "out.safetensors", "--from", "3"}, "no complete checkpoint of step 3");
  check_export_refused(w, {"small", "nowhere/out.safetensors"}, "nowhere/out.safetensors");
  fs::create_directory(w.folder() / "folder.safetensors");
  check_export_refused(w, {"small", "folder.safetensors"}, "is a folder");
  const fs::path own = small.run.path() / "checkpoints" / "latest" / "model.safetensors";
  check_export_refused(w, {"small", own}, "own file");
  CHECK(small.run.model() == small.model);
}

TEST_CASE("export refuses a damaged checkpoint and keeps an existing file") {
  const FinishedRun small(kSmall, kKeepsAll);
  const Workspace& w = small.workspace;
  w.write("out.safetensors", "mine");
  small.flip_a_byte(small.run.checkpoint(7) / "model.safetensors");
  check_export_refused(w, {"small", "out.safetensors", "--from", "7"}, "model.safetensors is damaged");
  CHECK(text_of(w.folder() / "out.safetensors") == "mine");
}

TEST_CASE("a full disk ends export with an error and keeps an existing file") {
  const FinishedRun small(kSmall, {"epochs=1", "model.hidden=[2000]"});
  const Workspace& w = small.workspace;
  w.write("out.safetensors", "mine");
  const auto before = visible_files(w.folder());
  rlimit whole{};
  getrlimit(RLIMIT_FSIZE, &whole);
  rlimit little = whole;
  little.rlim_cur = 1 << 12;
  setrlimit(RLIMIT_FSIZE, &little);
  const auto process = w.start({"export", "small", "out.safetensors"});
  setrlimit(RLIMIT_FSIZE, &whole);
  CHECK(process->wait() == 1);
  INFO(process->err());
  CHECK(contains(process->err(), "out.safetensors"));
  CHECK(visible_files(w.folder()) == before);
  CHECK(text_of(w.folder() / "out.safetensors") == "mine");
}

}  // namespace ddp::system_test
