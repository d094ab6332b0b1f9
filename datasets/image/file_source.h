#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "datasets/image/image_source.h"
#include "datasets/image/name_list.h"

namespace ddp::datasets {

// A list of image files.
struct FileList {
  std::filesystem::path folder;  // the names are relative to it
  NameList names;
  at::Tensor targets;  // int64 [n]; undefined: the images have no classes
  std::vector<std::string> classes;
};

// Returns the list that `held`, the result of FileSource::held(), contains.
FileList held_files(const NamedTensors& held, std::filesystem::path folder, std::vector<std::string> classes);

// Images with a file each. open() reads the file.
class FileSource final : public ImageSource {
 public:
  explicit FileSource(FileList list) : list_(std::move(list)) {}

  std::int64_t size() const override { return list_.names.size(); }
  Image open(std::int64_t sample, OpenFile& memory) const override;
  std::string name(std::int64_t sample) const override;
  const at::Tensor& targets() const override { return list_.targets; }
  const std::vector<std::string>& classes() const override { return list_.classes; }
  bool in_memory() const override { return false; }
  NamedTensors held() const override;

 private:
  const FileList list_;
};

}  // namespace ddp::datasets
