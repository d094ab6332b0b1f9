#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dist/shm/arena.h"
#include "dist/shm/page.h"
#include "dist/shm/reduction.h"

namespace ddp::dist {

// What the ranks of a call have to agree on; compared at its start, since memory has no types.
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

// Collectives over a shared page, on plain memory. Each is one SPMD program: every rank calls it with the same sizes,
// in the same order, and it returns when its part is done. Data of any size goes through the slots piece by piece;
// where they lie in the arena on all ranks, large reductions and broadcasts are made there. Reductions add in rank
// order: the bits are the same in every run, and with two ranks those of any other backend.
class SharedCollectives {
 public:
  SharedCollectives(SharedPage& page, const SharedArena& arena) : page_(page), arena_(arena) {}

  void barrier(const Call& call);
  // In place, on every rank.
  void all_reduce(std::byte* data, std::size_t count, const Reduction& reduction, const Call& call);
  // In place, on the root alone.
  void reduce(std::byte* data, std::size_t count, const Reduction& reduction, int root, const Call& call);
  void broadcast(std::byte* data, std::size_t bytes, int root, const Call& call);
  // Everyone's data goes to out[rank].
  void all_gather(const std::byte* data, std::size_t bytes, const std::vector<std::byte*>& out, const Call& call);
  // `out` on the root, elsewhere empty.
  void gather(const std::byte* data, std::size_t bytes, const std::vector<std::byte*>& out, int root, const Call& call);
  // `in` on the root, elsewhere empty: in[rank] goes to that rank's data.
  void scatter(const std::vector<const std::byte*>& in, std::byte* data, std::size_t bytes, int root, const Call& call);
  // Of everyone's in[rank] that rank gets the reduction.
  void reduce_scatter(const std::vector<const std::byte*>& in, std::byte* data, std::size_t count,
                      const Reduction& reduction, const Call& call);

  // How many were begun.
  std::uint64_t calls() const { return calls_; }

 private:
  // What a rank says of its call in one word.
  static std::uint64_t signature(Collective collective, int root, std::size_t bytes);
  static std::string describe(std::uint64_t signature);

  // A part of the data of a large reduction, which goes through one slot.
  struct Piece {
    std::byte* data;
    std::size_t count;
    int slot;
    SharedPage::Point point;  // of its last post
  };

  void begin(Collective collective, int root, std::size_t bytes);
  // Once those ranks have reached a point of this call.
  void compare(int rank, const Call& call) const;
  void await(int rank, SharedPage::Point point, const Call& call);
  void await_all(SharedPage::Point point, const Call& call);

  // Where each rank's data are; empty, on every rank, where any rank's lie elsewhere than in the arena. Before a rank
  // looks for others, all must have read these.
  std::vector<std::byte*> find_in_arena(const std::byte* data, std::size_t bytes, const Call& call);
  bool broadcast_in_place(std::byte* data, std::size_t bytes, int root, const Call& call);

  // The next slot of the ring; `written`: by this rank, so that all must have read what it held.
  int take_slot(bool written, const Call& call);
  // This rank has read what it wanted from the slot's neighbours.
  void release_slot(int slot) { free_at_[slot] = page_.posted() + 1; }

  void gather_pieces(const std::byte* data, std::size_t bytes, const std::vector<std::byte*>& out, const Call& call);
  // Reduces two or more ranks' elements, in rank order; of_rank(r): where those of rank r are. Only those of the first
  // two may be where the result goes.
  template <class OfRank>
  void combine_ranks(std::byte* out, const OfRank& of_rank, std::size_t count, const Reduction& r) const {
    r.combine(out, of_rank(0), of_rank(1), count);
    for (int rank = 2; rank < page_.world_size(); ++rank) r.combine(out, out, of_rank(rank), count);
    if (r.finish != nullptr) r.finish(out, count, page_.world_size());
  }
  // What all ranks wrote at one place of a slot.
  void combine_slots(int slot, std::size_t offset, std::byte* out, std::size_t count, const Reduction& r) const;

  void reduce_to(int root, std::byte* data, std::size_t count, const Reduction& r, const Call& call);
  void reduce_small(int root, std::byte* data, std::size_t count, const Reduction& r, const Call& call);
  bool reduce_in_place(int root, std::byte* data, std::size_t count, const Reduction& r, const Call& call);
  void reduce_large(int root, std::byte* data, std::size_t count, const Reduction& r, const Call& call);
  static constexpr int kEveryRank = -1;  // in place of a root: all want the result
  bool wants(int root) const { return root == kEveryRank || root == page_.rank(); }
  // Of so many elements those that a rank reduces for all: first and behind the last.
  std::pair<std::size_t, std::size_t> share_of(int rank, std::size_t count, const Reduction& r) const;
  void write_others_shares(Piece& piece, const Reduction& r, const Call& call);
  void reduce_own_share(Piece& piece, const Reduction& r, int root, const Call& call);
  void read_others_shares(const Piece& piece, const Reduction& r, int root, const Call& call);

  SharedPage& page_;
  const SharedArena& arena_;
  std::uint64_t calls_ = 0;
  std::uint64_t signature_ = 0;
  bool compared_ = false;  // with all others' signatures
  std::uint32_t pieces_ = 0;
  SharedPage::Point free_at_[SharedPage::kSlots] = {};  // the point at which every rank is done with it
};

}  // namespace ddp::dist
