#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "format/array.h"
#include "format/mapped_file.h"
#include "format/zip.h"

namespace ddp::format {

// A zip archive of .npy files, as numpy.savez and numpy.savez_compressed write it. Arrays that are stored lie in the
// file's pages; their CRC is not checked, since that would read all of them. Deflated ones are unpacked into memory,
// and checked.
class NpzFile {
 public:
  // Throws ddp::Error (usage) where it is no such archive.
  explicit NpzFile(const std::filesystem::path& file);

  // The names of its arrays, sorted: those of the members without ".npy".
  std::vector<std::string> names() const;
  // Is this array deflated? Throws ddp::Error (usage), which lists the names, where it does not exist.
  bool is_deflated(const std::string& name) const;
  // Returns the .npy file of a deflated array, uint8 [bytes]. Throws ddp::Error (usage) where it is damaged, where its
  // size is not what its header says, and where memory does not suffice.
  at::Tensor inflated(const std::string& name) const;

  // Returns an array that is stored. Throws ddp::Error (usage).
  Array stored(const std::string& name) const;
  // Returns the array in what `inflated` returned.
  Array from_inflated(const std::string& name, const at::Tensor& bytes) const;

 private:
  const ZipMember& member(const std::string& name) const;
  std::string shown(const std::string& name) const;

  std::string file_;
  MappedFile mapped_;
  std::map<std::string, ZipMember> members_;
};

}  // namespace ddp::format
