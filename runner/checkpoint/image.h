#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "checkpoint/safetensors.h"

namespace ddp::checkpoint {

// A safetensors file as it will lie on disk (8-byte little-endian header length, JSON header, raw data;
// https://github.com/huggingface/safetensors: what Python reads with safetensors.torch.load_file), in memory that stays
// from one save to the next. Tensors are copied in at the speed of memory; another thread writes them while training
// changes them.
class SafetensorsImage {
 public:
  SafetensorsImage() = default;
  ~SafetensorsImage();
  SafetensorsImage(const SafetensorsImage&) = delete;
  SafetensorsImage& operator=(const SafetensorsImage&) = delete;

  // Copies the tensors in, from whatever device they are on; strided ones become contiguous. Throws ddp::Error
  // (training).
  void take(const NamedTensors& tensors);
  // Writes the file, fsynced; calls `moved` after each piece. Throws ddp::Error (training).
  Digest write(
      const std::filesystem::path& file, const std::function<void()>& moved = [] {}) const;

 private:
  void reserve(std::uint64_t bytes);

  char* data_ = nullptr;  // whole pages, zero from size_ to the end of its page
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace ddp::checkpoint
