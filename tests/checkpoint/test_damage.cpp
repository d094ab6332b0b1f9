// Damages a checkpoint of a real run in every way. Both readers must detect each damage: the parent (record::damage_of,
// which decides which checkpoint a run resumes from) and a rank that reads the checkpoint without that check
// (checkpoint::load).
#include <sys/stat.h>
#include <sys/wait.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "catch.h"
#include "checkpoint/store.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::checkpoint {
namespace fs = std::filesystem;
namespace {

void write(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// A run of two ranks that saved after each of its two steps.
class Run {
 public:
  Run() {
    write(root_ / "x.toml",
          "model = \"toy\"\ndataset = \"random_batch\"\noptimizer = \"adam\"\ndevice_pool = [\"cpu\", \"cpu\"]\n"
          "threads = 1\nsteps = 2\ncheckpoint = { save_every_steps = 1 }\n");
    const std::string command = std::string("cd ") + root_.string() + " && " + DDP_EXP + " run x.toml --run-id a 2>log";
    const int status = std::system((command + " >out").c_str());
    INFO(content_of(root_ / "log"));
    REQUIRE(status == 0);
    REQUIRE(record::complete_checkpoints(checkpoints()).size() == 2);
  }

  // Resumes with two more steps, which must fail, and returns the message.
  std::string resume() const {
    const std::string command = "cd " + root_.string() + " && " + DDP_EXP + " resume x/a --set steps=4 >out 2>log";
    const int status = std::system(command.c_str());
    const std::string said = content_of(root_ / "log");
    INFO(said);
    CHECK(WIFEXITED(status));
    CHECK((WEXITSTATUS(status) == 1 || WEXITSTATUS(status) == 2));
    CHECK_FALSE(contains(said, "SIG"));
    return said;
  }

  fs::path checkpoints() const { return root_ / "results/x/a/checkpoints"; }
  fs::path newest() const { return checkpoints() / "step-00000002"; }
  fs::path before() const { return checkpoints() / "step-00000001"; }

 private:
  // In memory if such a file system exists, because each damage writes and reads a file.
  const ScratchFolder scratch_{fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()};
  const fs::path root_ = scratch_.folder();
};

const std::vector<std::string> kFiles{"model.safetensors", "optimizer.safetensors", "state.json", "COMPLETE"};

bool is_refused_by_ranks(const fs::path& folder) {
  try {
    load(folder);
    return false;
  } catch (const Error&) {
    return true;
  }
}

bool is_seen(const fs::path& folder) { return !record::damage_of(folder).empty() && is_refused_by_ranks(folder); }

// The number of random damages of each file: few in the tests, more in soak.
int how_many() {
  const char* given = std::getenv("DDP_FLIPS");
  return given == nullptr ? 2000 : std::atoi(given);
}

}  // namespace

TEST_CASE("a checkpoint file that is cut off anywhere is detected as damaged") {
  const Run run;
  REQUIRE(record::damage_of(run.newest()).empty());
  for (const auto& name : kFiles) {
    const std::string whole = content_of(run.newest() / name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      INFO(name << ", " << size << " of " << whole.size() << " bytes");
      write(run.newest() / name, whole.substr(0, size));
      REQUIRE(is_seen(run.newest()));
    }
    std::printf("%s: %zu of %zu truncations seen\n", name.c_str(), whole.size(), whole.size());
    write(run.newest() / name, whole + '\0');
    CHECK(is_seen(run.newest()));
    write(run.newest() / name, whole);
    REQUIRE(record::damage_of(run.newest()).empty());
  }
}

TEST_CASE("a checkpoint with flipped bits is detected as damaged") {
  const Run run;
  std::mt19937 random(23);
  const int times = how_many();
  for (const auto& name : kFiles) {
    const std::string whole = content_of(run.newest() / name);
    for (int time = 0; time < times; ++time) {
      std::string bytes = whole;
      // One bit, or up to eight at random positions. Two flips of the same bit cancel out.
      for (int flips = time % 2 == 0 ? 1 : 1 + static_cast<int>(random() % 8); flips > 0; --flips) {
        bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      }
      if (bytes == whole) bytes[0] ^= 1;
      INFO(name << ", time " << time);
      write(run.newest() / name, bytes);
      REQUIRE(is_seen(run.newest()));
    }
    std::printf("%s: %d of %d flips seen\n", name.c_str(), times, times);
    write(run.newest() / name, whole);
  }
  CHECK(record::damage_of(run.newest()).empty());
}

TEST_CASE("a missing file, a folder, a pipe or a link in a checkpoint is detected at once without waiting") {
  const Run run;
  for (const auto& name : kFiles) {
    const fs::path file = run.newest() / name;
    const fs::path kept = run.checkpoints() / "kept";
    fs::rename(file, kept);
    INFO(name);
    CHECK(is_seen(run.newest()));
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
    CHECK(is_seen(run.newest()));
    fs::remove(file);
    fs::create_directory(file);
    CHECK(is_seen(run.newest()));
    fs::remove(file);
    for (const char* target : {"/dev/zero", "/dev/tty", "/proc/self/mem", "gone"}) {
      fs::create_symlink(target, file);
      INFO(target);
      CHECK(is_seen(run.newest()));
      fs::remove(file);
    }
    fs::create_symlink(name, file);
    CHECK(is_seen(run.newest()));
    fs::remove(file);
    fs::rename(kept, file);
    CHECK(record::damage_of(run.newest()).empty());
  }
}

TEST_CASE("a state.json that agrees with COMPLETE but has wrong content is detected as damaged") {
  const Run run;
  const std::string whole = content_of(run.newest() / "state.json");
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string text = whole;
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    text.replace(at, part.size(), other);
    write(run.newest() / "state.json", text);
    write(run.newest() / "COMPLETE", record::hash_hex(text) + "\n");
    return record::damage_of(run.newest());
  };
  CHECK(with("\"version\"", "\"version\"").empty());
  CHECK(contains(with("\"model.safetensors\": {", "\"../../x\": {"), "does not name model.safetensors"));
  CHECK(contains(with("\"files\": {", "\"files\": { \"../step-00000001/COMPLETE\": {\"bytes\": 17, \"xxh3\": \"\"},"),
                 "is not a plain file name"));
  CHECK(contains(with("\"bytes\": ", "\"bytes\": 1"), "bytes, not 1"));
  CHECK(contains(with("\"bytes\": ", "\"bytes\": -"), "not a whole number"));
  CHECK(contains(with("\"bytes\": ", "\"bytes\": 99999999999999999999"), "not a whole number"));
  CHECK(contains(with("\"files\": ", "\"flies\": "), "\"files\" is missing"));
  CHECK(contains(with("\"version\"", "\"epoch\": 0, \"version\""), "has the key \"epoch\" twice"));
  CHECK(contains(with("\"version\"", "\"x\": " + std::string(1 << 20, '[') + ", \"version\""), "nested deeper"));
}

TEST_CASE("a state.json with buckets or generators of another model ends a resume with a plain error") {
  const Run run;
  const std::string whole = content_of(run.newest() / "state.json");
  const auto resumed_with = [&](const std::string& key, const std::string& value) {
    auto state = nlohmann::json::parse(whole);
    state[key] = nlohmann::json::parse(value);
    write(run.newest() / "state.json", state.dump());
    write(run.newest() / "COMPLETE", record::hash_hex(state.dump()) + "\n");
    return run.resume();
  };
  for (const char* buckets : {"[[0]]", "[[0,1,2,3,4]]", "[[0,1,2,99999999999]]", "[[0,0],[1,2,3]]", "[[0,1,2,3],[]]"}) {
    INFO(buckets);
    CHECK(contains(resumed_with("buckets", buckets), "bucket"));
  }
  CHECK(contains(resumed_with("buckets", "[[-1]]"), "not a whole number"));
  CHECK(contains(resumed_with("rng", "[\"AAAA\",\"AAAA\"]"), "generator"));
  CHECK(contains(resumed_with("rng", "[\"AAAA\"]"), "generators of 1 ranks, not of 2"));
}

TEST_CASE("a link latest that names no checkpoint does not hide the existing checkpoints") {
  const Run run;
  const fs::path link = run.checkpoints() / "latest";
  CHECK(record::latest_checkpoint(run.checkpoints()) == run.newest());
  for (const char* target :
       {"step-00000001", "step-00000009", "../../../x", "/", "step-", "step--5", "x/step-00000001"}) {
    fs::remove(link);
    fs::create_symlink(target, link);
    INFO(target);
    const bool is_first = std::string(target) == "step-00000001" || std::string(target) == "x/step-00000001";
    CHECK(record::latest_checkpoint(run.checkpoints()) == (is_first ? run.before() : run.newest()));
  }
  fs::remove(link);
  CHECK(record::latest_checkpoint(run.checkpoints()) == run.newest());
  write(link, "step-00000001");
  CHECK(record::latest_checkpoint(run.checkpoints()) == run.newest());
  fs::remove(link);
  REQUIRE(mkfifo(link.c_str(), 0600) == 0);
  CHECK(record::latest_checkpoint(run.checkpoints()) == run.newest());
}

TEST_CASE("a checkpoint folder that is a link does not belong to the run") {
  const Run run;
  fs::create_directory_symlink(run.newest(), run.checkpoints() / "step-00000003");
  CHECK(record::latest_checkpoint(run.checkpoints()) == run.newest());
  CHECK(record::complete_checkpoints(run.checkpoints()).size() == 2);
}

}  // namespace ddp::checkpoint
