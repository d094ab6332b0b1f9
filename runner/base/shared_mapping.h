#pragma once

#include <cstddef>

#include "base/file_descriptor.h"

namespace ddp {

// Anonymous memory, all zeros, that a process shares with the children it forks afterwards. It has no name: nobody
// else can open it, and it is gone when the last of them is. Pages count once they are written to.
class SharedMapping {
 public:
  SharedMapping() = default;
  // Throws ddp::Error (training).
  explicit SharedMapping(std::size_t bytes);
  ~SharedMapping();
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;

  void* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// A file in memory, empty and without a name, for the children that a process forks afterwards: what they map of it
// they share, as much as they find they need. None where the kernel has no such files.
FileDescriptor make_nameless_file();

}  // namespace ddp
