#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <ATen/ops/empty.h>

#include "base/error.h"
#include "datasets/image/image_set.h"
#include "datasets/image/image_source.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"

namespace ddp::datasets {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSide = 32;
constexpr std::int64_t kImageBytes = 3 * kSide * kSide;

// One of the two data sets (https://www.cs.toronto.edu/~kriz/cifar.html). A file consists of records. A record holds
// the labels, a byte each, then the red, green and blue pixels of an image.
struct CifarKind {
  const char* name;
  const char* doc;
  const char* folder;  // in the archive
  std::vector<const char*> train;
  const char* test;
  const char* names;    // file of the classes' names, a line each
  std::int64_t labels;  // labels of a record; the last one is the class
  std::int64_t num_classes;
};

const CifarKind kCifars[] = {
    {.name = "cifar10",
     .doc = "CIFAR-10, binary version: images of 32 x 32 pixels, 10 classes",
     .folder = "cifar-10-batches-bin",
     .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
     .test = "test_batch.bin",
     .names = "batches.meta.txt",
     .labels = 1,
     .num_classes = 10},
    {.name = "cifar100",
     .doc = "CIFAR-100, binary version: images of 32 x 32 pixels, 100 classes",
     .folder = "cifar-100-binary",
     .train = {"train.bin"},
     .test = "test.bin",
     .names = "fine_label_names.txt",
     .labels = 2,
     .num_classes = 100}};

struct CifarOptions : ImageOptions {
  std::string path;
  bool train = true;
  void fields(config::Fields& f) {
    f({.name = "path", .doc = "folder of the binary version", .required = true, .path = true}, path);
    f({.name = "train", .doc = "use the training images; false: the test images"}, train);
    ImageOptions::fields(f);
  }
};

// Returns `path`, or the archive's folder in it.
fs::path cifar_folder(const CifarKind& kind, const fs::path& path) {
  std::error_code none;
  const fs::path inner = path / kind.folder;
  const bool is_above = !fs::exists(path / kind.test, none) && fs::is_directory(inner, none);
  return is_above ? inner : path;
}

std::vector<fs::path> cifar_files(const CifarKind& kind, const CifarOptions& o) {
  std::error_code none;
  if (fs::is_regular_file(o.path, none)) return {o.path};  // input of a prediction
  const fs::path folder = cifar_folder(kind, o.path);
  std::vector<fs::path> files;
  if (o.train) {
    for (const char* name : kind.train) files.push_back(folder / name);
  } else {
    files.push_back(folder / kind.test);
  }
  for (const fs::path& file : files) {
    if (fs::is_regular_file(file, none)) continue;
    throw usage_error(
        "does not exist", file.string(),
        "dataset.path is the folder with the files of the binary version of CIFAR, such as " + std::string(kind.test));
  }
  return files;
}

struct CifarImages {
  at::Tensor pixels;
  at::Tensor targets;
};

CifarImages read_cifar(const CifarKind& kind, const std::vector<fs::path>& files) try {
  const std::int64_t record = kind.labels + kImageBytes;
  std::int64_t count = 0;
  for (const fs::path& file : files) {
    const auto bytes = static_cast<std::int64_t>(record::InputFile(file).size());
    if (bytes == 0 || bytes % record != 0) {
      throw usage_error("has " + std::to_string(bytes) + " bytes, which is not a multiple of a record's " +
                            std::to_string(record) + " bytes",
                        file.string(), "the file is truncated, or not from the binary version of this data set");
    }
    count += bytes / record;
  }
  CifarImages images{.pixels = at::empty({count, 3, kSide, kSide}, at::kByte),
                     .targets = at::empty({count}, at::kLong)};
  auto* pixels = images.pixels.mutable_data_ptr<std::uint8_t>();
  auto* target = images.targets.mutable_data_ptr<std::int64_t>();
  for (const fs::path& file : files) {
    const record::InputFile in(file);
    const auto size = static_cast<std::int64_t>(in.size());
    count -= size / record;
    if (count < 0 || size % record != 0) throw usage_error("changes while it is read", file.string());
    std::vector<std::uint8_t> bytes(in.size());
    in.read(0, bytes.data(), bytes.size());
    for (auto begin = bytes.begin(); begin != bytes.end(); begin += record, pixels += kImageBytes) {
      const auto image = begin + kind.labels;
      *target++ = image[-1];
      std::copy(image, image + kImageBytes, pixels);
    }
  }
  return images;
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

// Returns the lines of the file of names, or numbers if the file does not exist or has another number of lines.
std::vector<std::string> cifar_classes(const CifarKind& kind, const fs::path& path) {
  const fs::path file = cifar_folder(kind, path) / kind.names;
  std::error_code none;
  std::vector<std::string> names;
  if (fs::is_regular_file(file, none)) {
    std::istringstream text(record::read_text(file));
    for (std::string line; std::getline(text, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (!line.empty()) names.push_back(line);
    }
  }
  return std::ssize(names) == kind.num_classes ? names : numbered_classes(kind.num_classes);
}

std::unique_ptr<Dataset> make_cifar(const CifarKind& kind, const CifarOptions& o, const Context& context) {
  std::vector<std::string> classes = classes_of_training(context);
  if (!context.held.empty()) {
    return std::make_unique<ImageSet>(std::make_shared<PixelSource>(context.held, std::move(classes), o.path),
                                      treatment_of(o, context));
  }
  if (classes.empty()) classes = cifar_classes(kind, o.path);
  CifarImages images = read_cifar(kind, cifar_files(kind, o));
  require_classes(images.targets, std::ssize(classes), o.path);
  return std::make_unique<ImageSet>(
      std::make_shared<PixelSource>(std::move(images.pixels), std::move(images.targets), std::move(classes), o.path),
      treatment_of(o, context));
}

const bool cifars_registered = [] {
  for (const CifarKind& kind : kCifars) {
    registry().add<CifarOptions>(
        kind.name, kind.doc,
        [&kind](const CifarOptions& o, const Context& context) { return make_cifar(kind, o, context); },
        {{"loss", "cross_entropy"}, {"held", true}, {"predicts_from", "path"}});
  }
  return true;
}();

}  // namespace
}  // namespace ddp::datasets
