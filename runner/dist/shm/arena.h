#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

namespace ddp::dist {

// Memory with one part for each rank, mapped by all ranks of the node. Tensors in the arena are summed in place,
// without a copy to memory that other ranks can read.
class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  // `file`: the descriptor of an empty unnamed file that all ranks have open; -1: the arena stays empty.
  SharedArena(int file, int rank, int world_size) : file_(file), rank_(rank), world_size_(world_size) {}
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  // Tells whether the arena can hold anything. The result is the same on every rank.
  bool exists() const { return file_ >= 0; }
  int ranks() const { return world_size_; }
  // Sets the size of each rank's part; only the first call has an effect. All ranks pass the same number. Memory pages
  // are allocated only when a tensor takes them. If the arena cannot be mapped, this rank's tensors are in ordinary
  // memory.
  void reserve(std::size_t bytes);

  // Returns memory of this size that every rank reads and writes, initially all zeros; null if this rank cannot map it.
  // Call once on every rank, with the same number, after all ranks have reserved their parts.
  std::shared_ptr<std::byte> common(std::size_t bytes) const;

  // Returns the offset of the bytes in this rank's part; nullopt if any of them is outside.
  std::optional<std::size_t> place_of(const std::byte* data, std::size_t bytes) const;
  std::byte* at(int rank, std::size_t place) const { return memory_ + static_cast<std::size_t>(rank) * part_ + place; }

  // During its lifetime, CPU tensors of one memory page or more that this thread allocates are placed in the arena,
  // while it has room and the kernel has pages. Does nothing without an arena.
  class Use {
   public:
    explicit Use(const std::shared_ptr<SharedArena>& arena);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

 private:
  class Allocator;

  // Returns null if the arena is full. All pieces become free at once, when the last one is given back.
  std::byte* take(std::size_t bytes);
  void give_back();

  const int file_;
  const int rank_;
  const int world_size_;
  std::byte* memory_ = nullptr;  // the parts of all ranks
  std::size_t part_ = 0;         // bytes of each part
  std::mutex mutex_;             // guards the members below
  std::size_t taken_ = 0;        // bytes taken from this rank's part
  std::size_t pieces_ = 0;       // pieces not yet given back
};

}  // namespace ddp::dist
