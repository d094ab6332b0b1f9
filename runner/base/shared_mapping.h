#pragma once

#include <cstddef>

namespace ddp {

// Anonymous memory, all zeros, that a process shares with the children it forks later. It has no name, so no other
// process can open it. It is freed when the last process that maps it ends. A memory page counts once it is written to.
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

}  // namespace ddp
