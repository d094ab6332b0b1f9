#pragma once

#include <cstddef>

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

}  // namespace ddp
