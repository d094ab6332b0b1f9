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

// A zip archive of .npy files, as numpy.savez and numpy.savez_compressed write it. Stored arrays are memory-mapped;
// their CRC is not checked, which would read all of them. Deflated arrays are decompressed into memory and checked.
class NpzFile {
 public:
  // Throws ddp::Error (usage) if the file is not such an archive.
  explicit NpzFile(const std::filesystem::path& file);

  // The sorted names of the arrays: the members' names without ".npy".
  std::vector<std::string> names() const;
  // Is this array deflated? Throws ddp::Error (usage), which lists the names, if the array does not exist.
  bool is_deflated(const std::string& name) const;
  // Returns the .npy file of a deflated array as uint8 [bytes]. Throws ddp::Error (usage) if it is damaged, if its size
  // differs from its header, or if memory does not suffice.
  at::Tensor inflated(const std::string& name) const;

  // Returns a stored array. Throws ddp::Error (usage).
  Array stored(const std::string& name) const;
  // Returns the array in the bytes that `inflated` returned.
  Array from_inflated(const std::string& name, const at::Tensor& bytes) const;

 private:
  const ZipMember& member(const std::string& name) const;
  std::string shown(const std::string& name) const;

  std::string file_;
  MappedFile mapped_;
  std::map<std::string, ZipMember> members_;
};

}  // namespace ddp::format
