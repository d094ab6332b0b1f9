#include <algorithm>
#include <filesystem>
#include <utility>

#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "datasets/files.h"
#include "datasets/image/image_set.h"
#include "datasets/image/image_source.h"
#include "datasets/image/listing.h"

namespace ddp::datasets {
namespace {

namespace fs = std::filesystem;

struct ImageFolderOptions : ImageOptions {
  config::Value path;
  OnBadOption on_bad;
  void fields(config::Fields& f) {
    f({.name = "path",
       .doc = "folder with one folder per class; for a prediction, a folder of images, or images",
       .required = true,
       .path = true,
       .types = {config::Type::text, config::Type::list},
       .item = config::Type::text},
      path);
    ImageOptions::fields(f);
    on_bad.fields(f);
  }
};

// Images with a file each.
class FileSource final : public ImageSource {
 public:
  // The names are relative to the folder.
  FileSource(fs::path folder, NameList names, at::Tensor targets, std::vector<std::string> classes,
             std::vector<std::string> warnings = {})
      : ImageSource(std::move(targets), std::move(classes)),
        folder_(std::move(folder)),
        names_(std::move(names)),
        warnings_(std::move(warnings)) {}

  std::int64_t size() const override { return names_.size(); }
  Image open(std::int64_t sample, OpenFile& memory) const override {
    const std::string file = name(sample);
    return read_image(*format::open_local(file), file, memory);
  }
  std::string name(std::int64_t sample) const override { return (folder_ / names_[sample]).string(); }
  std::vector<std::string> warnings() const override { return warnings_; }

 private:
  NamedTensors held_images() const override { return {{"names", names_.bytes()}, {"ends", names_.ends()}}; }

  const fs::path folder_;
  const NameList names_;
  const std::vector<std::string> warnings_;
};

using SharedSource = std::shared_ptr<const FileSource>;

// Returns the numbers of a folder's classes in the training data.
std::vector<std::int64_t> numbers_of(const std::vector<std::string>& classes, const std::vector<std::string>& trained,
                                     const fs::path& folder) {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : classes) {
    const auto found = std::find(trained.begin(), trained.end(), name);
    if (found == trained.end()) {
      throw usage_error("is the folder of a class that the training data do not have", (folder / name).string(),
                        "classes are the names of the folders in dataset.path");
    }
    numbers.push_back(found - trained.begin());
  }
  return numbers;
}

// Returns the folder of a training or evaluation dataset: exactly one.
fs::path class_folder(const config::Value& path) {
  const std::vector<std::string> given = one_or_more(path, "dataset.path");
  std::error_code none;
  if (given.size() == 1 && fs::is_directory(given.front(), none)) return given.front();
  const bool is_there = fs::exists(given.front(), none);
  throw usage_error(is_there ? "is not a folder" : "does not exist", given.front(),
                    "dataset.path is one folder, which contains one folder per class");
}

SharedSource listed_classes(const ImageFolderOptions& o, std::vector<std::string> classes) {
  const fs::path folder = class_folder(o.path);
  FolderListing listing = list_folder(folder);
  if (!classes.empty()) {
    const std::vector<std::int64_t> numbers = numbers_of(listing.classes, classes, folder);
    for (std::int64_t& target : listing.targets) target = numbers[static_cast<std::size_t>(target)];
  } else {
    classes = std::move(listing.classes);
  }
  return std::make_shared<FileSource>(folder, NameList(listing.files), at::tensor(listing.targets, at::kLong),
                                      std::move(classes), std::move(listing.warnings));
}

// Returns the images of a prediction: files, and the images of folders.
SharedSource listed_images(const ImageFolderOptions& o, std::vector<std::string> classes) {
  std::vector<std::string> files;
  for (const fs::path& path : paths_of(o.path, "dataset.path")) {
    std::error_code none;
    if (!fs::is_directory(path, none)) {
      files.push_back(path.string());
      continue;
    }
    for (const std::string& image : list_images(path)) files.push_back((path / image).string());
  }
  return std::make_shared<FileSource>("", NameList(files), at::Tensor(), std::move(classes));
}

SharedSource held_files(const ImageFolderOptions& o, const NamedTensors& held, std::vector<std::string> classes) {
  return std::make_shared<FileSource>(class_folder(o.path),
                                      NameList(tensor_named("names", held), tensor_named("ends", held)),
                                      tensor_named("targets", held), std::move(classes));
}

std::unique_ptr<Dataset> make_image_folder(const ImageFolderOptions& o, const Context& context) {
  std::vector<std::string> classes = classes_of_training(context);
  const SharedSource source = !context.held.empty()              ? held_files(o, context.held, std::move(classes))
                              : context.role == Role::prediction ? listed_images(o, std::move(classes))
                                                                 : listed_classes(o, std::move(classes));
  return std::make_unique<ImageSet>(source, treatment_of(o, context, o.on_bad.skips()));
}

const bool image_folder_registered = registry().add<ImageFolderOptions>(
    "image_folder", "JPEG, PNG and WebP files in one folder per class", make_image_folder,
    {{"loss", "cross_entropy"},
     {"held", true},
     {"library", "images"},
     {"predicts_from", "path"},
     {"classes_are_folders", true}});

}  // namespace
}  // namespace ddp::datasets
