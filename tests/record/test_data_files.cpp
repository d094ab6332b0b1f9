#include <chrono>

#include "catch.h"
#include "errors.h"
#include "record/file/atomic_file.h"
#include "record/saves/data_files.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

DataFile file(const std::string& path, std::int64_t bytes = 10, std::int64_t modified = 1'700'000'000'000'000'001) {
  return {.key = "dataset.path", .path = path, .bytes = bytes, .modified = modified};
}

// A checkpoint with only the part that the check reads: its state.json.
fs::path checkpoint(const ScratchFolder& scratch, const std::string& state) {
  scratch.write("checkpoints/step-00000007/state.json", state);
  return scratch.folder() / "checkpoints/step-00000007";
}

// The components of the tested program.
config::Components components() {
  return config::Components::from_json(
      config::Value::parse(read_text(fs::path(DDP_EXP).parent_path() / "components.json")));
}

std::string state_with(const std::vector<DataFile>& files) { return config::written(DataMember{files}).dump(); }

std::optional<std::vector<DataFile>> files_of_state(const std::string& state) {
  return parse_kept<DataMember>(state, "state.json").data;
}

std::string refusal_of(const fs::path& folder, const std::vector<DataFile>& now,
                       const std::vector<std::string>& set_keys = {}) {
  return error_of([&] { require_same_data(folder, now, set_keys); });
}

}  // namespace

TEST_CASE("a file with another size, another time by a nanosecond, or that is gone or new, differs") {
  CHECK(data_difference({file("a"), file("b")}, {file("b"), file("a")}).path.empty());
  const DataDifference size = data_difference({file("a"), file("b")}, {file("a"), file("b", 12)});
  CHECK(size.path == "b");
  CHECK(size.what == "has 12 bytes, but had 10 when the checkpoint was trained");
  const DataDifference time = data_difference({file("a")}, {file("a", 10, 1'700'000'000'000'000'002)});
  CHECK(time.path == "a");
  CHECK(time.what == "was modified since the checkpoint was trained");
  CHECK(data_difference({file("a"), file("b")}, {file("b")}).what == "is missing");
  CHECK(data_difference({file("a"), file("d/.DS_Store")}, {file("a")}).path.empty());
  const DataDifference two = data_difference({file("a")}, {file("b")});
  CHECK(two.path == "a");
  CHECK(two.what == "is missing\n  b: is new: the checkpoint was trained without it");
}

TEST_CASE("the first 20 of many files that differ are named") {
  std::vector<DataFile> then;
  for (int i = 10; i < 40; ++i) then.push_back(file("f" + std::to_string(i)));
  const std::string what = data_difference(then, {}).what;
  CHECK(contains(what, "f29: is missing"));
  CHECK_FALSE(contains(what, "f30"));
  CHECK(what.ends_with("\n  …"));
}

TEST_CASE("files read back from a state.json, also with times before 1970, and a damaged list is an error") {
  const std::vector<DataFile> files{file("/a b/\"c\".csv", 1LL << 40), file("old", 0, -1)};
  CHECK((files_of_state(state_with(files)) == files));
  CHECK_FALSE(files_of_state("{}"));
  for (const char* damaged : {R"({"data": 1})", R"({"data": [1]})", R"({"data": [{"key": "k", "path": "p"}]})",
                              R"({"data": [{"key": "k", "path": "p", "bytes": -1, "modified": 0}]})",
                              R"({"data": [{"key": "k", "path": "p", "bytes": 1, "modified": "now"}]})"}) {
    INFO(damaged);
    const ScratchFolder scratch;
    CHECK_THROWS(files_of_state(damaged));
    CHECK(contains(refusal_of(checkpoint(scratch, damaged), {}), "state.json: is damaged"));
  }
}

TEST_CASE("a checkpoint of other data is refused with the file, the difference, and the option that accepts them") {
  const ScratchFolder scratch;
  const fs::path folder = checkpoint(scratch, state_with({file("a")}));
  CHECK(refusal_of(folder, {file("a")}).empty());
  const std::string refusal = refusal_of(folder, {file("a", 11)});
  CHECK(contains(refusal, "a: has 11 bytes, but had 10"));
  CHECK(contains(refusal, "--data-changed"));
  // An option that was set names other files on purpose.
  CHECK(refusal_of(folder, {file("b")}, {"dataset.path"}).empty());
  CHECK_FALSE(refusal_of(folder, {file("b")}, {"test.dataset.path"}).empty());
}

TEST_CASE("a checkpoint of an older version without its data files is accepted") {
  const ScratchFolder scratch;
  CHECK(refusal_of(checkpoint(scratch, R"({"version": 1})"), {file("a")}).empty());
}

TEST_CASE("a graph is not compared: a run keeps its own copy") {
  const auto graph = [](const std::string& path, const std::string& hash) {
    return DataFile{.key = "model.path", .path = path, .bytes = 10, .hash = hash};
  };
  CHECK(data_difference({file("x"), graph("a", "1")}, {file("x"), graph("b", "2")}).path.empty());
  const ScratchFolder scratch;
  const fs::path folder = checkpoint(scratch, state_with({file("x"), graph("a", "1")}));
  CHECK(files_of_checkpoint(folder) == std::vector<DataFile>{file("x"), graph("a", "1")});
  CHECK(refusal_of(folder, {file("x"), graph("b", "2")}).empty());
  CHECK(refusal_of(folder, {file("x")}).empty());
}

TEST_CASE("data accepted for a checkpoint is accepted again, while other data and other checkpoints are not") {
  const ScratchFolder scratch;
  const fs::path folder = checkpoint(scratch, state_with({file("a")}));
  accept_data(folder, {file("a", 11)});
  CHECK(refusal_of(folder, {file("a", 11)}).empty());
  CHECK(refusal_of(folder, {file("a")}).empty());
  CHECK_FALSE(refusal_of(folder, {file("a", 12)}).empty());
  scratch.write("checkpoints/step-00000009/state.json", state_with({file("a")}));
  CHECK_FALSE(refusal_of(scratch.folder() / "checkpoints/step-00000009", {file("a", 11)}).empty());
  // From here on the run uses the first data again.
  accept_data(folder, {file("a")});
  CHECK_FALSE(refusal_of(folder, {file("a", 11)}).empty());
  CHECK_FALSE(fs::exists(scratch.folder() / "checkpoints/accepted-data.json"));
}

TEST_CASE("the data files are the matches of globs and the files of a folder, with sizes and nanoseconds") {
  const ScratchFolder scratch;
  for (const char* name : {"b.txt", "a.txt", "tokenizer/vocab.json", "tokenizer/merges.txt", "model.safetensors",
                           "tokenizer/.DS_Store", "tokenizer/.ipynb_checkpoints/vocab.json"}) {
    scratch.write(name, name);
  }
  const fs::path a = scratch.folder() / "a.txt";
  fs::last_write_time(a, fs::file_time_type(std::chrono::nanoseconds(123456789)));
  config::Experiment experiment;
  experiment.resolve(components());
  experiment.init_from.path = (scratch.folder() / "model.safetensors").string();
  experiment.dataset = {.name = "text",
                        .options = {{"path", (scratch.folder() / "*.txt").string()},
                                    {"tokenizer", (scratch.folder() / "tokenizer").string()},
                                    {"block_size", 4}}};
  experiment.test.dataset = {
      .name = "text",
      .options = {{"path", (scratch.folder() / "gone.txt").string()}, {"tokenizer", "char"}, {"block_size", 4}}};
  std::vector<std::string> names;
  const std::vector<DataFile> files = data_files(experiment);
  for (const DataFile& one : files) {
    names.push_back(fs::path(one.path).filename().string());
    CHECK(one.bytes == static_cast<std::int64_t>(fs::file_size(one.path)));
  }
  CHECK(names == std::vector<std::string>{"a.txt", "b.txt", "merges.txt", "vocab.json"});
  CHECK(files.front().key == "dataset.path");
  CHECK(files.back().key == "dataset.tokenizer");
  CHECK(files.front().modified % 1000 != 0);
}

TEST_CASE("a file name that is not UTF-8 has a state that JSON can hold and that is always the same") {
  const ScratchFolder scratch;
  scratch.write("data/\xff.csv", "x");
  config::Experiment experiment;
  experiment.resolve(components());
  experiment.dataset = {.name = "csv",
                        .options = {{"path", (scratch.folder() / "data/*.csv").string()}, {"target", "y"}}};
  const std::vector<DataFile> files = data_files(experiment);
  REQUIRE(files.size() == 1);
  CHECK(data_difference(*files_of_state(state_with(files)), data_files(experiment)).path.empty());
}

TEST_CASE("a folder with many files has one state per folder, which shows any change of a file in it") {
  const ScratchFolder scratch;
  for (int i = 0; i < 600; ++i) {
    scratch.write("images/cat/" + std::to_string(i) + ".png", "cat");
    scratch.write("images/dog/" + std::to_string(i) + ".png", "dog");
  }
  config::Experiment e;
  e.dataset = {.name = "image_folder", .options = {{"path", (scratch.folder() / "images").string()}}};
  e.resolve(components());
  const std::vector<DataFile> then = data_files(e);
  REQUIRE(then.size() == 2);
  CHECK(then[1].path == (scratch.folder() / "images/dog").string());
  CHECK(then[1].files == 600);
  CHECK(then[1].bytes == 1800);
  CHECK((files_of_state(state_with(then)) == then));
  CHECK(data_difference(then, data_files(e)).path.empty());

  const fs::path changed = scratch.folder() / "images/dog/17.png";
  fs::last_write_time(changed, fs::last_write_time(changed) - std::chrono::hours(1));
  const DataDifference time = data_difference(then, data_files(e));
  CHECK(time.path == (scratch.folder() / "images/dog").string());
  CHECK(contains(time.what, "has files whose name, size or time changed"));
  fs::remove(changed);
  CHECK(contains(data_difference(then, data_files(e)).what, "has 599 files, but had 600"));
}

namespace {

// The files below a folder of scratch, as data_files() finds them.
std::vector<DataFile> files_in(const ScratchFolder& scratch, const std::string& folder, std::int64_t modified) {
  std::vector<DataFile> files;
  for (const auto& entry : fs::directory_iterator(scratch.folder() / folder)) {
    files.push_back({.key = "dataset.path",
                     .path = entry.path(),
                     .bytes = static_cast<std::int64_t>(entry.file_size()),
                     .modified = modified});
  }
  return files;
}

std::string difference(const ScratchFolder& scratch, const std::string& first, const std::string& second) {
  const std::vector<DataSample> samples = content_samples(files_in(scratch, first, 1));
  const std::vector<DataSample> others = content_samples(files_in(scratch, second, 2));
  const std::string found = sample_difference(samples, others);
  CHECK((hash_of_samples(samples) == hash_of_samples(others)) == found.empty());
  return found;
}

// Rows of 12 bytes, from `first` on.
std::string rows(int first, int count) {
  std::string text;
  for (int row = first; row < first + count; ++row) text += std::to_string(100'000'000 + row) + ",1\n";
  return text;
}

}  // namespace

TEST_CASE("Copies of a file at another place and time have the same content samples") {
  const ScratchFolder scratch;
  scratch.write("a/t.csv", rows(0, 10));
  scratch.write("b/t.csv", rows(0, 10));
  CHECK(difference(scratch, "a", "b") == "");
}

TEST_CASE("Content samples show fewer rows, another order, another name and a missing file") {
  const ScratchFolder scratch;
  const std::string below = "dataset.path: " + scratch.folder().string() + "/";
  scratch.write("a/t.csv", rows(0, 10));
  scratch.write("fewer/t.csv", rows(0, 9));
  CHECK(difference(scratch, "a", "fewer") == below + "fewer/t.csv has 108 bytes, not 120");
  scratch.write("order/t.csv", rows(1, 9) + rows(0, 1));
  CHECK(difference(scratch, "a", "order") == below + "order/t.csv has another content of the same size");
  scratch.write("name/u.csv", rows(0, 10));
  CHECK(difference(scratch, "a", "name") ==
        below + "name/u.csv is there in place of " + (scratch.folder() / "a/t.csv").string());
  fs::create_directory(scratch.folder() / "none");
  CHECK(difference(scratch, "a", "none") == below + "a/t.csv is missing");
  CHECK(difference(scratch, "none", "a") == below + "a/t.csv is there only");
}

TEST_CASE("Content samples of a file of 12 MB show another order of its rows") {
  constexpr int kRows = 1'000'000;
  const ScratchFolder scratch;
  scratch.write("a/t.csv", rows(0, kRows));
  scratch.write("b/t.csv", rows(1, kRows - 1) + rows(0, 1));
  CHECK(difference(scratch, "a", "b") ==
        "dataset.path: " + (scratch.folder() / "b/t.csv").string() + " has another content of the same size");
}

}  // namespace ddp::record
