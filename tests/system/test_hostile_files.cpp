// Hostile files and names are refused at once, within bounded memory, with nothing started, and nothing written outside
// the results folder.
#include <sys/stat.h>
#include <unistd.h>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const std::string kOne = "model = \"linear\"\ndataset = \"random_pairs\"\ndevice_pool = [\"cpu\"]\nsteps = 2\n";

// A path in the test's folder for each kind of file that cannot be read as one.
Words make_odd_files(const Workspace& w) {
  REQUIRE(mkfifo((w.folder() / "pipe").c_str(), 0600) == 0);
  fs::create_directory(w.folder() / "folder");
  fs::create_symlink("itself", w.folder() / "itself");
  fs::create_symlink("/dev/zero", w.folder() / "zeros");
  return {"pipe", "folder", "itself", "zeros", "/dev/zero", "/dev/tty"};
}

// Requires exit 2, this text on stderr, nothing started and nothing written.
Outcome check_file_refused(const Workspace& w, const Words& arguments) {
  const Outcome run = w.refused(arguments, {});
  CHECK_FALSE(run.err.empty());
  CHECK(run.err.size() < 2000);
  CHECK(run.out.empty());
  CHECK_FALSE(run.left);
  CHECK_FALSE(fs::exists(w.results()));
  return run;
}

}  // namespace

TEST_CASE("a path that is not a readable file is refused as an experiment, as weights and as data") {
  const Workspace w("x.toml", kOne);
  for (const std::string& name : make_odd_files(w)) {
    INFO(name);
    check_file_refused(w, {"run", name});
    check_file_refused(w, {"plan", name});
    check_file_refused(w, {"run", "x.toml", "--init-from", name});
    check_file_refused(w, {"run", "x.toml", "--set", "dataset={name=\"digits\",path=\"" + name + "\"}"});
    w.write("extends.toml", "extends = \"" + name + "\"\n" + kOne);
    check_file_refused(w, {"run", "extends.toml"});
    check_file_refused(w, {"resume", name});
  }
}

TEST_CASE("a file of a gigabyte is refused as an experiment and as weights without being read") {
  const Workspace w("x.toml", kOne);
  w.write("huge.toml", kOne);
  fs::resize_file(w.folder() / "huge.toml", std::uintmax_t{1} << 30);
  CHECK(contains(check_file_refused(w, {"run", "huge.toml"}).err, "larger than 1 MiB"));
  // All zeros: a header of length 0, then bytes that belong to no tensor.
  w.write("huge.safetensors", "");
  fs::resize_file(w.folder() / "huge.safetensors", std::uintmax_t{1} << 40);
  CHECK(contains(check_file_refused(w, {"run", "x.toml", "--init-from", "huge.safetensors"}).err, "huge.safetensors"));
}

TEST_CASE("a file without read permission is named") {
  const Workspace w("x.toml", kOne);
  if (geteuid() == 0) return;  // root may read everything
  fs::permissions(w.folder() / "x.toml", fs::perms::none);
  CHECK(contains(check_file_refused(w, {"run", "x.toml"}).err, "Permission denied"));
}

TEST_CASE("no name leads out of the results folder") {
  const Workspace w("x.toml", kOne);
  for (const std::string& name : Words{"latest", "../up", "/tmp/up", "a/b", "..", ".", ".hidden", "a\nb", "a b",
                                       std::string(200, 'a'), std::string("\x1b[31m"), std::string("caf\xc3\xa9")}) {
    INFO(name);
    check_file_refused(w, {"run", "x.toml", "--name", name});
    check_file_refused(w, {"run", "x.toml", "--run-id", name});
    w.write("named.toml", "name = '''" + name + "'''\n" + kOne);
    check_file_refused(w, {"run", "named.toml"});
  }
  for (const std::string& run :
       Words{"..", "../..", "/", "x/../../..", "", "latest/..", "x\x1b[31m", std::string(300, 'x')}) {
    INFO(run);
    CHECK_FALSE(contains(check_file_refused(w, {"resume", run}).err, "\x1b"));
  }
  // A file name that cannot name a folder gives a similar name.
  w.write(".hidden.toml", kOne);
  w.done({"run", ".hidden.toml"});
  CHECK(fs::exists(w.results() / "hidden"));
  CHECK_FALSE(fs::exists(w.results() / ".hidden"));
}

TEST_CASE("odd files in a run's folder do not block a resume forever") {
  const Workspace w("x.toml", kOne);
  w.done({"run", "x.toml", "--run-id", "a"});
  const fs::path run = w.results() / "x/a";
  for (const char* name : {"metrics.jsonl", "summary.json", "config.toml", "logs/rank-0.log", "checkpoints/latest"}) {
    INFO(name);
    const fs::path copy = w.results() / "x/b";
    fs::remove_all(copy);
    fs::copy(run, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    fs::remove(copy / name);
    REQUIRE(mkfifo((copy / name).c_str(), 0600) == 0);
    const Outcome resumed = w.run({"resume", "results/x/b", "--set", "steps=4"});
    INFO(resumed.err);
    CHECK(resumed.code >= 0);  // it ended
    CHECK_FALSE(resumed.left);
    const Outcome again = w.run({"resume", "results/x/b"});
    INFO(again.err);
    CHECK(again.code >= 0);
  }
}

TEST_CASE("nothing that a run writes contains the environment's values") {
  const Workspace w("good.toml", kOne);
  w.write("wrong.toml", kOne + "nonsense = 1\n");
  w.write("failing.toml",
          "model = \"linear\"\ndataset = \"random_pairs\"\ndevice_pool = [\"cpu\", \"cpu\"]\n"
          "backend = \"gloo\"\nsteps = 1000000\n");
  const std::string secret = "s3cr3t-of-the-environment";
  // Turns on all messages of c10d and libtorch.
  const Environment environment{{"API_TOKEN", secret},
                                {"TORCH_DISTRIBUTED_DEBUG", "DETAIL"},
                                {"TORCH_CPP_LOG_LEVEL", "INFO"},
                                {"TORCH_SHOW_CPP_STACKTRACES", "1"}};
  w.done({"run", "good.toml"}, {}, environment);
  w.refused({"run", "wrong.toml"}, {}, environment);
  const auto failing = w.start({"run", "failing.toml"}, environment);
  w.running(*failing, "failing", 2);
  REQUIRE(kill(failing->ranks().back(), SIGKILL) == 0);
  w.ends(1, *failing);
  std::size_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(w.folder())) {
    if (!entry.is_regular_file()) continue;
    const std::string text = text_of(entry.path());
    bytes += text.size();
    INFO(entry.path());
    CHECK_FALSE(contains(text, secret));
  }
  CHECK(bytes > 1000);
}

}  // namespace ddp::system_test
