#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "model/named_tensors.h"
#include "record/file/input_file.h"

namespace ddp::checkpoint {

// The bytes of a safetensors file (format/safetensors.h), in memory that is reused for the next save. Tensors are
// copied into it while training only reads them; another thread writes the file while training changes them.
class SnapshotBytes {
 public:
  SnapshotBytes() = default;
  ~SnapshotBytes();
  SnapshotBytes(const SnapshotBytes&) = delete;
  SnapshotBytes& operator=(const SnapshotBytes&) = delete;

  // Allocates and touches the memory for a file of these tensors, which is most of the work of a first begin() and
  // finish(). Throws ddp::Error (training).
  void reserve(const NamedTensors& steady, const NamedTensors& changing = {});
  // Computes the layout of the file and copies `changing`, from any device; strided tensors become contiguous. Copies
  // `steady` as well, except contiguous CPU tensors: finish() copies these, so they must not change until it returns.
  // Throws ddp::Error (training).
  void begin(const NamedTensors& steady, const NamedTensors& changing = {});
  // Copies the remaining tensors. Several threads may call it to share the work; each call returns when all is copied.
  void finish();
  // Writes the file, without fsync. Calls `moved` after each piece. Throws ddp::Error (training).
  record::Digest write(
      const std::filesystem::path& file, const std::function<void()>& moved = [] {}) const;

 private:
  // A copy for finish().
  struct Piece {
    char* to;
    const char* from;
    std::uint64_t bytes;
  };

  // Ensures the capacity. Returns whether the memory is new.
  bool take(std::uint64_t bytes);
  void add(const at::Tensor& tensor, char* to, bool steady);

  char* data_ = nullptr;  // whole memory pages; zero from size_ to the end of its page
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
  std::vector<Piece> pieces_;
  std::atomic<std::size_t> taken_{0};  // pieces taken by threads
  std::atomic<std::size_t> copied_{0};
};

}  // namespace ddp::checkpoint
