#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ops/empty.h>
#include <zlib.h>

#include "base/error.h"
#include "base/installation.h"
#include "base/own_command.h"
#include "datasets/in_memory.h"

namespace ddp::datasets {
namespace {

constexpr std::int64_t kPixels = 64;
constexpr std::size_t kLargestFile = 64u << 20;

// Samples with 64 features, the pixels of an image.
class Digits final : public InMemory {
 public:
  using InMemory::InMemory;
  config::DatasetDescription describe() const override { return {.image = {8, 8}}; }
};

struct DigitsOptions {
  std::string path;
  void fields(config::Fields& f) {
    f({.name = "path",
       .doc = "digits.csv.gz; default: the file that the set-up fetched, or the file of an installed scikit-learn",
       .path = true,
       .urls = true},
      path);
  }
};

// The file that scripts/ddp-exp fetched, and the file of a scikit-learn that pip installed beside this program.
constexpr const char* kFetched = "data/digits.csv.gz";
constexpr const char* kBeside = "sklearn/datasets/data/digits.csv.gz";

std::string default_path() {
  for (const char* file : {kFetched, kBeside}) {
    for (const auto& place : default_places(file)) {
      std::error_code none;
      if (std::filesystem::exists(place, none)) return place;
    }
  }
  return cache_folder() / kFetched;
}

std::string digits_remedy() {
  const std::string get = in_checkout()
                              ? "fetch it: " + setup_command("--setup-only")
                              : "install scikit-learn, which contains it, beside ddp-exp: pip install scikit-learn";
  return get + "; or set dataset.path";
}

std::string unzip(const std::string& path) {
  // gzopen() would block on a pipe.
  std::error_code none;
  gzFile file = std::filesystem::is_regular_file(path, none) ? gzopen(path.c_str(), "rb") : nullptr;
  if (file == nullptr) {
    throw usage_error("the digits dataset is missing", path, digits_remedy());
  }
  std::string text;
  char piece[1 << 16];
  int read = 0;
  while ((read = gzread(file, piece, sizeof piece)) > 0 && text.size() < kLargestFile) text.append(piece, read);
  // Only gzclose reports that a file is truncated.
  const bool whole = gzclose(file) == Z_OK;
  if (read != 0 || !whole) throw usage_error("is damaged, or too large for the digits dataset", path);
  return text;
}

// Reads lines of 64 pixel values 0..16 and a class 0..9, separated by commas.
std::unique_ptr<Dataset> parse(const std::string& text, const std::string& path) {
  std::vector<double> values;
  const char* next = text.data();
  const char* const end = next + text.size();
  while (next < end) {
    double value = 0;
    const auto [rest, error] = std::from_chars(next, end, value);
    if (error != std::errc{} || value < 0 || value > 16) throw usage_error("is not the digits dataset", path);
    values.push_back(value);
    for (next = rest; next < end && (*next == ',' || *next == '\n' || *next == '\r');) ++next;
  }
  const auto rows = static_cast<std::int64_t>(values.size()) / (kPixels + 1);
  if (rows == 0 || values.size() % (kPixels + 1) != 0) throw usage_error("is not the digits dataset", path);
  at::Tensor inputs = at::empty({rows, kPixels}, at::kFloat);
  at::Tensor targets = at::empty({rows}, at::kLong);
  for (std::int64_t r = 0; r < rows; ++r) {
    const double* row = values.data() + r * (kPixels + 1);
    for (std::int64_t p = 0; p < kPixels; ++p) {
      inputs.mutable_data_ptr<float>()[r * kPixels + p] = static_cast<float>(row[p]) / 16;
    }
    if (row[kPixels] > 9) throw usage_error("is not the digits dataset", path);
    targets.mutable_data_ptr<std::int64_t>()[r] = static_cast<std::int64_t>(row[kPixels]);
  }
  return std::make_unique<Digits>(inputs, targets);
}

const bool digits_registered = registry().add<DigitsOptions>(
    "digits", "scikit-learn's 1797 handwritten digits: 64 values 0..1, class 0..9",
    [](const DigitsOptions& o, const Context& context) -> std::unique_ptr<Dataset> {
      if (!context.held.empty()) return std::make_unique<Digits>(context.held);
      const std::string path = o.path.empty() ? default_path() : o.path;
      return parse(unzip(path), path);
    },
    {{"loss", "cross_entropy"}, {"held", true}, {"predicts_from", "path"}, {"default_files", {kFetched, kBeside}}});

}  // namespace
}  // namespace ddp::datasets
