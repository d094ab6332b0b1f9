#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "model/named_tensors.h"
#include "record/file/hash.h"

namespace ddp::checkpoint {

// A safetensors file as it will lie on disk (format/safetensors.h), in memory that stays from one save to the next.
// Tensors are copied in while training only reads them; another thread writes them while training changes them.
class SafetensorsImage {
 public:
  SafetensorsImage() = default;
  ~SafetensorsImage();
  SafetensorsImage(const SafetensorsImage&) = delete;
  SafetensorsImage& operator=(const SafetensorsImage&) = delete;

  // Takes the memory that a file of these tensors needs, and touches it, which is most of the work of a first begin()
  // and finish(). Throws ddp::Error (training).
  void reserve(const NamedTensors& steady, const NamedTensors& changing = {});
  // Lays the file out and copies `changing` in, from whatever device they are on; strided ones become contiguous. So it
  // does with `steady`, but for contiguous tensors of the CPU: those are left to finish(), and until it has returned
  // they must stay as they are. Throws ddp::Error (training).
  void begin(const NamedTensors& steady, const NamedTensors& changing = {});
  // Copies what is left. Several threads may call it, and share the work; each returns when all is there.
  void finish();
  // Writes the file, fsynced; calls `moved` after each piece. Throws ddp::Error (training).
  record::Digest write(
      const std::filesystem::path& file, const std::function<void()>& moved = [] {}) const;

 private:
  // What finish() copies.
  struct Piece {
    char* to;
    const char* from;
    std::uint64_t bytes;
  };

  // Returns whether the memory is new.
  bool take(std::uint64_t bytes);
  void add(const at::Tensor& tensor, char* to, bool steady);

  char* data_ = nullptr;  // whole pages, zero from size_ to the end of its page
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
  std::vector<Piece> pieces_;
  std::atomic<std::size_t> taken_{0};  // pieces
  std::atomic<std::size_t> copied_{0};
};

}  // namespace ddp::checkpoint
