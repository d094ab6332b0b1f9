#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dist/shares.h"
#include "dist/shm/arena.h"
#include "dist/shm/reduction.h"
#include "dist/shm/segment.h"

namespace ddp::dist {

// The kind of a call. Ranks compare it at the start of the call, because shared memory has no types.
enum class Collective : std::uint8_t {
  barrier = 1,
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  gather,
  scatter,
  reduce_scatter
};

// Collectives over a shared segment, on plain memory. Each is one SPMD program: every rank calls it with the same
// sizes, in the same order, and it returns when this rank's part is done. Data of any size go through the slots in
// pieces. If the data of all ranks are in the arena, large reductions and broadcasts work there in place. Reductions
// add in rank order, so the bits are the same in every run, and with two ranks the same as with any other backend.
class SharedCollectives {
 public:
  // `as_tree`: reductions combine the ranks, a power of two, as a balanced binary tree: neighbours first.
  SharedCollectives(SharedSegment& segment, const SharedArena& arena, bool as_tree)
      : segment_(segment), arena_(arena), as_tree_(as_tree) {}

  void barrier(const Call& call);
  // In place, on every rank.
  void all_reduce(std::byte* data, std::size_t count, const Reduction& reduction, const Call& call);
  // Sets the numbers in the ranges to the sums of all ranks' numbers, each multiplied by `factor`, in rank order.
  // `data`: in the arena on every rank; the ranges of different ranks do not overlap. Returns false, and does nothing,
  // if the data of any rank are outside.
  bool sum_shares(float* data, std::size_t count, const std::vector<Range>& own, float factor, const Call& call);
  // In place, only on the root.
  void reduce(std::byte* data, std::size_t count, const Reduction& reduction, int root, const Call& call);
  void broadcast(std::byte* data, std::size_t bytes, int root, const Call& call);
  // Copies every rank's data to out[rank].
  void all_gather(const std::byte* data, std::size_t bytes, const std::vector<std::byte*>& out, const Call& call);
  // `out` is empty on ranks other than the root.
  void gather(const std::byte* data, std::size_t bytes, const std::vector<std::byte*>& out, int root, const Call& call);
  // Copies the root's in[rank] to that rank's data. `in` is empty on other ranks.
  void scatter(const std::vector<const std::byte*>& in, std::byte* data, std::size_t bytes, int root, const Call& call);

  // The number of calls that were begun.
  std::uint64_t calls() const { return calls_; }

 private:
  // Encodes a call in one integer.
  static std::uint64_t signature(Collective collective, int root, std::size_t bytes);
  static std::string describe(std::uint64_t signature);

  // A part of the data of a large reduction, which passes through one slot.
  struct Piece {
    std::byte* data;
    std::size_t count;
    int slot;
    SharedSegment::Point point;  // point of its last post
  };

  void begin(Collective collective, int root, std::size_t bytes);
  // Compares a rank's call with this rank's. Call once that rank has reached a point of this call.
  void compare(int rank, const Call& call) const;
  void await(int rank, SharedSegment::Point point, const Call& call);
  void await_all(SharedSegment::Point point, const Call& call);

  // Returns the address of each rank's data in the arena; empty on every rank if any rank's data are outside. All ranks
  // must have read the data before the next call of find_in_arena().
  std::vector<std::byte*> find_in_arena(const std::byte* data, std::size_t bytes, const Call& call);
  bool broadcast_in_place(std::byte* data, std::size_t bytes, int root, const Call& call);

  // Returns the next slot of the ring. `written`: this rank will write it, so waits until all ranks have read its old
  // contents.
  int take_slot(bool written, const Call& call);
  // Notes that this rank has read all that it needs from the other ranks' slots.
  void release_slot(int slot) { free_at_[slot] = segment_.posted() + 1; }

  void gather_pieces(const std::byte* data, std::size_t bytes, const std::vector<std::byte*>& out, const Call& call);
  // Reduces the elements of two or more ranks, in rank order or as a tree. of_rank(r): the address of rank r's
  // elements. `out` may overlap only with the elements of the first two ranks.
  template <class OfRank>
  void combine_ranks(std::byte* out, const OfRank& of_rank, std::size_t count, const Reduction& r) const {
    if (as_tree_) {
      for (std::size_t at = 0; at < count; at += kTreeBytes / r.element_bytes) {
        const std::size_t block = std::min(count - at, kTreeBytes / r.element_bytes), offset = at * r.element_bytes;
        const auto of_block = [&](int rank) { return of_rank(rank) + offset; };
        combine_tree(out + offset, of_block, 0, segment_.world_size(), block, r);
      }
    } else {
      r.combine(out, of_rank(0), of_rank(1), count);
      for (int rank = 2; rank < segment_.world_size(); ++rank) r.combine(out, out, of_rank(rank), count);
    }
    if (r.finish != nullptr) r.finish(out, count, segment_.world_size());
  }
  // Reduces the ranks [first, first + ranks).
  template <class OfRank>
  static void combine_tree(std::byte* out, const OfRank& of_rank, int first, int ranks, std::size_t count,
                           const Reduction& r) {
    if (ranks == 2) return r.combine(out, of_rank(first), of_rank(first + 1), count);
    alignas(64) std::byte second[kTreeBytes];
    combine_tree(out, of_rank, first, ranks / 2, count, r);
    combine_tree(second, of_rank, first + ranks / 2, ranks / 2, count, r);
    r.combine(out, out, second, count);
  }
  static constexpr std::size_t kTreeBytes = 4u << 10;

  void reduce_to(int root, std::byte* data, std::size_t count, const Reduction& r, const Call& call);
  void reduce_small(int root, std::byte* data, std::size_t count, const Reduction& r, const Call& call);
  bool reduce_in_place(int root, std::byte* data, std::size_t count, const Reduction& r, const Call& call);
  void reduce_large(int root, std::byte* data, std::size_t count, const Reduction& r, const Call& call);
  static constexpr int kEveryRank = -1;  // instead of a root: all ranks need the result
  bool wants(int root) const { return root == kEveryRank || root == segment_.rank(); }
  // Returns the range [first, last) of `count` elements that a rank reduces for all ranks.
  std::pair<std::size_t, std::size_t> share_of(int rank, std::size_t count, const Reduction& r) const;
  void write_others_shares(Piece& piece, const Reduction& r, const Call& call);
  void reduce_own_share(Piece& piece, const Reduction& r, int root, const Call& call);
  void read_others_shares(const Piece& piece, const Reduction& r, int root, const Call& call);

  SharedSegment& segment_;
  const SharedArena& arena_;
  const bool as_tree_;
  std::uint64_t calls_ = 0;
  std::uint64_t signature_ = 0;
  bool compared_ = false;  // the signature was compared with all ranks
  std::uint32_t pieces_ = 0;
  SharedSegment::Point free_at_[SharedSegment::kSlots] = {};  // point at which every rank has read the slot
};

}  // namespace ddp::dist
