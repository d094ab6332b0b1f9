#include <nlohmann/json.hpp>

#include "catch.h"
#include "record/saves/data_files.h"
#include "scratch.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

// The files below a folder of scratch, as data_files() finds them.
std::vector<DataFile> files_in(const Scratch& scratch, const std::string& folder, std::int64_t modified) {
  std::vector<DataFile> files;
  for (const auto& entry : fs::directory_iterator(scratch.folder() / folder)) {
    files.push_back({.key = "dataset.path",
                     .path = entry.path(),
                     .bytes = static_cast<std::int64_t>(entry.file_size()),
                     .modified = modified});
  }
  return files;
}

std::string difference(const Scratch& scratch, const std::string& first, const std::string& second) {
  const config::Value samples = content_samples(files_in(scratch, first, 1));
  const config::Value others = content_samples(files_in(scratch, second, 2));
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
  const Scratch scratch;
  scratch.write("a/t.csv", rows(0, 10));
  scratch.write("b/t.csv", rows(0, 10));
  CHECK(difference(scratch, "a", "b") == "");
}

TEST_CASE("Content samples show fewer rows, another order, another name and a missing file") {
  const Scratch scratch;
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
  const Scratch scratch;
  scratch.write("a/t.csv", rows(0, kRows));
  scratch.write("b/t.csv", rows(1, kRows - 1) + rows(0, 1));
  CHECK(difference(scratch, "a", "b") ==
        "dataset.path: " + (scratch.folder() / "b/t.csv").string() + " has another content of the same size");
}

}  // namespace ddp::record
