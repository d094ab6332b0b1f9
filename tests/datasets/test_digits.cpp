#include <unistd.h>
#include <filesystem>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <zlib.h>

#include "catch.h"
#include "datasets/dataset.h"
#include "errors.h"
#include "words.h"

namespace ddp::datasets {
namespace {

// A digits.csv.gz of the test, removed on destruction.
class DigitsFile {
 public:
  explicit DigitsFile(const std::string& text) {
    gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }
  ~DigitsFile() { std::filesystem::remove(path_); }
  DigitsFile(const DigitsFile&) = delete;
  DigitsFile& operator=(const DigitsFile&) = delete;

  std::unique_ptr<Dataset> read() const { return registry().build("digits", {{"path", path_.string()}}, Context{}); }
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("ddp-digits-" + std::to_string(getpid()) + ".csv.gz");
};

// 64 pixels of one value, and the class.
std::string line(const std::string& pixel, const std::string& digit) {
  std::string text;
  for (int i = 0; i < 64; ++i) text += pixel + ",";
  return text + digit + "\n";
}

}  // namespace

TEST_CASE("digits are the pixels of each line, from 0 to 1, and its class") {
  const DigitsFile file(line("4.000e+00", "7.0") + line("16", "0"));
  const auto dataset = file.read();
  const auto& digits = dynamic_cast<const MapDataset&>(*dataset);
  REQUIRE(digits.size() == 2);
  const Batch batch = digits.gather(at::tensor({1, 0}, at::kLong), /*epoch=*/0);
  CHECK(at::equal(batch.inputs.at(0).second[0], at::full({64}, 1.F)));
  CHECK(at::equal(batch.inputs.at(0).second[1], at::full({64}, 0.25F)));
  CHECK(at::equal(batch.targets.at(0).second, at::tensor({0, 7}, at::kLong)));
}

TEST_CASE("a file that is not the digits is refused by its name") {
  for (const std::string& text :
       {std::string(), line("17", "1"), line("-1", "1"), line("1", "10"), line("x", "1"), line("1", "1") + "1,2,3\n"}) {
    const DigitsFile file(text);
    CHECK(contains(error_of([&] { file.read(); }), file.path().string() + ": is not the digits dataset"));
  }
}

TEST_CASE("a digits file that is cut off anywhere is refused") {
  std::string text;
  for (int i = 0; i < 20; ++i) text += line(std::to_string(i * 7 % 16), std::to_string(i * 3 % 10));
  const DigitsFile file(text);
  for (std::uintmax_t size = std::filesystem::file_size(file.path()); size-- > 0;) {
    std::filesystem::resize_file(file.path(), size);
    INFO(size);
    CHECK(contains(error_of([&] { file.read(); }), file.path().string() + ": is "));
  }
}

TEST_CASE("missing digits are an error with the way to get them") {
  const std::string text = error_of([] {
    registry().build("digits", {{"path", "/nowhere/digits.csv.gz"}}, Context{});
  });
  CHECK(contains(text, "/nowhere/digits.csv.gz: the digits dataset is missing"));
  CHECK(contains(text, "dataset.path"));
}

}  // namespace ddp::datasets
