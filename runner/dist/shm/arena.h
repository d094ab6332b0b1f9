#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

namespace ddp::dist {

// A part of memory for each rank that all ranks of its machine have mapped. What lies there is summed where it is: no
// rank has to copy it to where the others see it.
class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  // `file`: an empty one without a name that all ranks have open, or -1: then nothing is ever in the arena.
  SharedArena(int file, int rank, int world_size) : file_(file), rank_(rank), world_size_(world_size) {}
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  // May anything be in it? The same on every rank.
  bool exists() const { return file_ >= 0; }
  // Makes each rank's part so large, the first time. All ranks give the same number. Pages count once a tensor takes
  // them. A rank that gets no such room has its tensors elsewhere, as without an arena.
  void reserve(std::size_t bytes);

  // Where in this rank's part the bytes are; nothing where any of them is elsewhere.
  std::optional<std::size_t> place_of(const std::byte* data, std::size_t bytes) const;
  std::byte* at(int rank, std::size_t place) const { return memory_ + static_cast<std::size_t>(rank) * part_ + place; }

  // While one lives, the tensors of a page and more that its thread makes on the CPU lie in the arena, as far as there
  // is room and the kernel has pages. Without an arena it does nothing.
  class Use {
   public:
    explicit Use(const std::shared_ptr<SharedArena>& arena);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

 private:
  class Allocator;

  // Null where there is no room. What was taken is free again once all of it has been given back.
  std::byte* take(std::size_t bytes);
  void give_back();

  const int file_;
  const int rank_;
  const int world_size_;
  std::byte* memory_ = nullptr;  // all ranks' parts
  std::size_t part_ = 0;         // bytes of each
  std::mutex mutex_;             // guards what follows
  std::size_t taken_ = 0;        // bytes of this rank's
  std::size_t pieces_ = 0;       // not yet given back
};

}  // namespace ddp::dist
