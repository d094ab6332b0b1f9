#include "dist/shm/collectives.h"

#include <algorithm>

#include "base/error.h"

namespace ddp::dist {
namespace {

constexpr int kBytesBits = 40;
constexpr int kRootBits = 12;
constexpr int kCollectiveBits = 4;
static_assert(kBytesBits + kRootBits + kCollectiveBits <= SharedSegment::kSignatureBits);

std::size_t pieces_of(std::size_t bytes, std::size_t piece) {
  return std::max<std::size_t>(1, (bytes + piece - 1) / piece);
}

}  // namespace

std::uint64_t SharedCollectives::signature(Collective collective, int root, std::size_t bytes) {
  return std::uint64_t(collective) << (kBytesBits + kRootBits) | std::uint64_t(root) << kBytesBits | bytes;
}

std::string SharedCollectives::describe(std::uint64_t signature) {
  static const char* const names[] = {"?",          "barrier", "all_reduce", "reduce",        "broadcast",
                                      "all_gather", "gather",  "scatter",    "reduce_scatter"};
  const std::uint64_t bytes = signature & ((std::uint64_t(1) << kBytesBits) - 1);
  const std::uint64_t root = signature >> kBytesBits & ((1u << kRootBits) - 1);
  return std::string(names[signature >> (kBytesBits + kRootBits)]) + " of " + std::to_string(bytes) + " bytes" +
         (root == 0 ? "" : " with root " + std::to_string(root));
}

void SharedCollectives::begin(Collective collective, int root, std::size_t bytes) {
  signature_ = signature(collective, root, bytes);
  compared_ = false;
  segment_.announce(++calls_, signature_);
}

void SharedCollectives::compare(int rank, const Call& call) const {
  const auto other = segment_.announced(rank, calls_);
  if (!other || *other == signature_) return;
  throw training_error("the ranks do not call the same collectives: " + segment_.name({rank}) + " is at " +
                       describe(*other) + ", " + segment_.name({segment_.rank()}) + " at " + describe(signature_) +
                       " (" + call.name + ", call " + std::to_string(calls_) + ")");
}

void SharedCollectives::await(int rank, SharedSegment::Point point, const Call& call) {
  segment_.await(rank, point, call);
  if (!compared_) compare(rank, call);
}

void SharedCollectives::await_all(SharedSegment::Point point, const Call& call) {
  segment_.await_all(point, call);
  for (int r = 0; !compared_ && r < segment_.world_size(); ++r) compare(r, call);
  compared_ = true;
}

int SharedCollectives::take_slot(bool written, const Call& call) {
  const int slot = static_cast<int>(pieces_++ % SharedSegment::kSlots);
  // No rank has posted since it read the slot. All ranks find this here and post.
  if (free_at_[slot] == segment_.posted() + 1) segment_.post();
  if (written) segment_.await_all(free_at_[slot], call);
  return slot;
}

void SharedCollectives::barrier(const Call& call) {
  begin(Collective::barrier, 0, 0);
  await_all(segment_.post(), call);
}

void SharedCollectives::broadcast(std::byte* data, std::size_t bytes, int root, const Call& call) {
  begin(Collective::broadcast, root, bytes);
  if (bytes > segment_.slot_bytes() && broadcast_in_place(data, bytes, root, call)) return;
  const bool mine = root == segment_.rank();
  for (std::size_t i = 0; i < pieces_of(bytes, segment_.slot_bytes()); ++i) {
    const std::size_t at = i * segment_.slot_bytes();
    const std::size_t size = std::min(segment_.slot_bytes(), bytes - at);
    const int slot = take_slot(mine, call);
    if (mine) copy_bytes(segment_.slot(root, slot), data + at, size);
    const SharedSegment::Point point = segment_.post();
    if (!mine) {
      await(root, point, call);
      copy_bytes(data + at, segment_.slot(root, slot), size);
    }
    release_slot(slot);
  }
}

// If the data of all ranks are in the arena, the other ranks copy the root's data there. Returns false on every rank if
// the data of any rank are outside.
bool SharedCollectives::broadcast_in_place(std::byte* data, std::size_t bytes, int root, const Call& call) {
  const std::vector<std::byte*> of_rank = find_in_arena(data, bytes, call);
  if (!of_rank.empty() && root != segment_.rank()) copy_bytes(data, of_rank[root], bytes);
  // All ranks must have read these places before any rank announces another.
  await_all(segment_.post(), call);
  return !of_rank.empty();
}

std::vector<std::byte*> SharedCollectives::find_in_arena(const std::byte* data, std::size_t bytes, const Call& call) {
  std::vector<std::byte*> of_rank;
  if (!arena_.exists()) return of_rank;
  segment_.announce_place(arena_.place_of(data, bytes));
  await_all(segment_.post(), call);
  for (int rank = 0; rank < segment_.world_size(); ++rank) {
    const auto place = segment_.announced_place(rank);
    if (!place) return {};
    of_rank.push_back(arena_.at(rank, *place));
  }
  return of_rank;
}

void SharedCollectives::all_gather(const std::byte* data, std::size_t bytes, const std::vector<std::byte*>& out,
                                   const Call& call) {
  begin(Collective::all_gather, 0, bytes);
  gather_pieces(data, bytes, out, call);
}

void SharedCollectives::gather(const std::byte* data, std::size_t bytes, const std::vector<std::byte*>& out, int root,
                               const Call& call) {
  begin(Collective::gather, root, bytes);
  gather_pieces(data, bytes, out, call);
}

void SharedCollectives::gather_pieces(const std::byte* data, std::size_t bytes, const std::vector<std::byte*>& out,
                                      const Call& call) {
  const int me = segment_.rank();
  for (std::size_t i = 0; i < pieces_of(bytes, segment_.slot_bytes()); ++i) {
    const std::size_t at = i * segment_.slot_bytes();
    const std::size_t size = std::min(segment_.slot_bytes(), bytes - at);
    const int slot = take_slot(true, call);
    copy_bytes(segment_.slot(me, slot), data + at, size);
    const SharedSegment::Point point = segment_.post();
    for (int r = 0; r < static_cast<int>(out.size()); ++r) {
      if (r != me) await(r, point, call);
      copy_bytes(out[r] + at, r == me ? data + at : segment_.slot(r, slot), size);
    }
    release_slot(slot);
  }
}

void SharedCollectives::scatter(const std::vector<const std::byte*>& in, std::byte* data, std::size_t bytes, int root,
                                const Call& call) {
  begin(Collective::scatter, root, bytes);
  const bool mine = root == segment_.rank();
  const std::size_t part = segment_.slot_bytes() / static_cast<std::size_t>(segment_.world_size());
  for (std::size_t i = 0; i < pieces_of(bytes, part); ++i) {
    const std::size_t at = i * part;
    const std::size_t size = std::min(part, bytes - at);
    const int slot = take_slot(mine, call);
    for (std::size_t r = 0; r < in.size(); ++r) copy_bytes(segment_.slot(root, slot) + r * part, in[r] + at, size);
    const SharedSegment::Point point = segment_.post();
    if (!mine) await(root, point, call);
    copy_bytes(data + at, segment_.slot(root, slot) + static_cast<std::size_t>(segment_.rank()) * part, size);
    release_slot(slot);
  }
}

void SharedCollectives::reduce_scatter(const std::vector<const std::byte*>& in, std::byte* data, std::size_t count,
                                       const Reduction& reduction, const Call& call) {
  const std::size_t bytes = count * reduction.element_bytes;
  begin(Collective::reduce_scatter, 0, bytes);
  const std::size_t part = segment_.slot_bytes() / static_cast<std::size_t>(segment_.world_size()) / 64 * 64;
  const int me = segment_.rank();
  for (std::size_t i = 0; i < pieces_of(bytes, part); ++i) {
    const std::size_t at = i * part;
    const std::size_t size = std::min(part, bytes - at);
    const int slot = take_slot(true, call);
    for (std::size_t r = 0; r < in.size(); ++r) copy_bytes(segment_.slot(me, slot) + r * part, in[r] + at, size);
    await_all(segment_.post(), call);
    combine_slots(slot, static_cast<std::size_t>(me) * part, data + at, size / reduction.element_bytes, reduction);
    release_slot(slot);
  }
}

void SharedCollectives::combine_slots(int slot, std::size_t offset, std::byte* out, std::size_t count,
                                      const Reduction& r) const {
  const auto of_rank = [&](int rank) { return segment_.slot(rank, slot) + offset; };
  if (segment_.world_size() > 1) return combine_ranks(out, of_rank, count, r);
  copy_bytes(out, of_rank(0), count * r.element_bytes);
  if (r.finish != nullptr) r.finish(out, count, 1);
}

}  // namespace ddp::dist
