#include "dist/shm/collectives.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/kernels.h"

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

// The reductions of SharedCollectives.

namespace {

// Up to this size of all ranks' data together, it is faster if each rank combines everything itself.
constexpr std::size_t kSmallBytes = 64u << 10;
// Block size of a reduction; the sum stays in the first-level cache until it is copied.
constexpr std::size_t kBlockBytes = 16u << 10;
constexpr std::size_t kCacheLine = 64;

}  // namespace

void SharedCollectives::all_reduce(std::byte* data, std::size_t count, const Reduction& reduction, const Call& call) {
  begin(Collective::all_reduce, 0, count * reduction.element_bytes);
  reduce_to(kEveryRank, data, count, reduction, call);
}

void SharedCollectives::reduce(std::byte* data, std::size_t count, const Reduction& reduction, int root,
                               const Call& call) {
  begin(Collective::reduce, root, count * reduction.element_bytes);
  reduce_to(root, data, count, reduction, call);
}

void SharedCollectives::reduce_to(int root, std::byte* data, std::size_t count, const Reduction& r, const Call& call) {
  const std::size_t bytes = count * r.element_bytes;
  const bool small =
      bytes * static_cast<std::size_t>(segment_.world_size()) <= kSmallBytes && bytes <= segment_.slot_bytes();
  if (small || segment_.world_size() == 1) {
    reduce_small(root, data, count, r, call);
  } else if (!reduce_in_place(root, data, count, r, call)) {
    reduce_large(root, data, count, r, call);
  }
}

void SharedCollectives::reduce_small(int root, std::byte* data, std::size_t count, const Reduction& r,
                                     const Call& call) {
  if (segment_.world_size() == 1) {
    if (r.finish != nullptr) r.finish(data, count, 1);
    return;
  }
  const int slot = take_slot(true, call);
  copy_bytes(segment_.slot(segment_.rank(), slot), data, count * r.element_bytes);
  const SharedSegment::Point point = segment_.post();
  if (wants(root)) {
    await_all(point, call);
    combine_ranks(
        data, [&](int rank) { return segment_.slot(rank, slot); }, count, r);
  }
  release_slot(slot);
}

// If the data of all ranks are in the arena, each rank reduces its share and writes it to the ranks that need it.
// Returns false on every rank if the data of any rank are outside.
bool SharedCollectives::reduce_in_place(int root, std::byte* data, std::size_t count, const Reduction& r,
                                        const Call& call) {
  const std::vector<std::byte*> of_rank = find_in_arena(data, count * r.element_bytes, call);
  if (of_rank.empty()) return false;
  const std::vector<std::byte*> wanted = root == kEveryRank ? of_rank : std::vector{of_rank[root]};
  const auto [begin, end] = share_of(segment_.rank(), count, r);
  const std::size_t block = kBlockBytes / r.element_bytes;
  alignas(kCacheLine) std::byte sum[kBlockBytes];
  for (std::size_t at = begin; at < end; at += block) {
    const std::size_t elements = std::min(block, end - at);
    const std::size_t offset = at * r.element_bytes;
    combine_ranks(
        sum, [&](int rank) { return of_rank[rank] + offset; }, elements, r);
    for (std::byte* to : wanted) copy_bytes(to + offset, sum, elements * r.element_bytes);
  }
  await_all(segment_.post(), call);
  return true;
}

bool SharedCollectives::sum_shares(float* data, std::size_t count, const std::vector<Range>& own, float factor,
                                   const Call& call) {
  begin(Collective::reduce_scatter, 0, count * sizeof(float));
  const auto of_rank = find_in_arena(reinterpret_cast<const std::byte*>(data), count * sizeof(float), call);
  std::vector<const float*> addends(of_rank.size());
  for (const Range& range : own) {
    for (std::size_t r = 0; r < of_rank.size(); ++r) {
      addends[r] = reinterpret_cast<const float*>(of_rank[r]) + range.from;
    }
    if (!of_rank.empty()) kernels::scaled_sum(addends.data(), addends.size(), factor, data + range.from, range.count);
  }
  await_all(segment_.post(), call);
  return !of_rank.empty();
}

// Each rank reduces its share of a piece for all ranks, which divides the work and the traffic. While other ranks write
// a piece, this rank already writes the next one.
void SharedCollectives::reduce_large(int root, std::byte* data, std::size_t count, const Reduction& r,
                                     const Call& call) {
  const std::size_t elements = segment_.slot_bytes() / r.element_bytes;
  const auto piece_at = [&](std::size_t at) {
    return Piece{.data = data + at * r.element_bytes, .count = std::min(elements, count - at), .slot = 0, .point = 0};
  };
  Piece piece = piece_at(0);
  write_others_shares(piece, r, call);
  for (std::size_t at = elements;; at += elements) {
    Piece next{};
    if (at < count) {
      next = piece_at(at);
      write_others_shares(next, r, call);
    }
    reduce_own_share(piece, r, root, call);
    read_others_shares(piece, r, root, call);
    if (at >= count) return;
    piece = next;
  }
}

std::pair<std::size_t, std::size_t> SharedCollectives::share_of(int rank, std::size_t count, const Reduction& r) const {
  // Shares are whole cache lines, so that no two ranks write to the same line.
  const auto world = static_cast<std::size_t>(segment_.world_size());
  const std::size_t line = kCacheLine / r.element_bytes;
  const std::size_t share = (count + world * line - 1) / (world * line) * line;
  const std::size_t begin = std::min(count, share * static_cast<std::size_t>(rank));
  return {begin, std::min(count, begin + share)};
}

void SharedCollectives::write_others_shares(Piece& piece, const Reduction& r, const Call& call) {
  piece.slot = take_slot(true, call);
  std::byte* slot = segment_.slot(segment_.rank(), piece.slot);
  const auto [begin, end] = share_of(segment_.rank(), piece.count, r);
  const std::size_t size = r.element_bytes;
  copy_bytes(slot, piece.data, begin * size);
  copy_bytes(slot + end * size, piece.data + end * size, (piece.count - end) * size);
  piece.point = segment_.post();
}

void SharedCollectives::reduce_own_share(Piece& piece, const Reduction& r, int root, const Call& call) {
  await_all(piece.point, call);
  const int me = segment_.rank();
  const auto [begin, end] = share_of(me, piece.count, r);
  const auto of_rank = [&](int rank, std::size_t at) {
    return (rank == me ? piece.data : segment_.slot(rank, piece.slot)) + at * r.element_bytes;
  };
  const std::size_t block = kBlockBytes / r.element_bytes;
  for (std::size_t at = begin; at < end; at += block) {
    const std::size_t count = std::min(block, end - at);
    std::byte* sum = segment_.slot(me, piece.slot) + at * r.element_bytes;
    combine_ranks(
        sum, [&](int rank) { return of_rank(rank, at); }, count, r);
    if (wants(root)) copy_bytes(of_rank(me, at), sum, count * r.element_bytes);
  }
  piece.point = segment_.post();
}

void SharedCollectives::read_others_shares(const Piece& piece, const Reduction& r, int root, const Call& call) {
  for (int rank = 0; wants(root) && rank < segment_.world_size(); ++rank) {
    if (rank == segment_.rank()) continue;
    const auto [begin, end] = share_of(rank, piece.count, r);
    await(rank, piece.point, call);
    const std::size_t size = r.element_bytes;
    copy_bytes(piece.data + begin * size, segment_.slot(rank, piece.slot) + begin * size, (end - begin) * size);
  }
  release_slot(piece.slot);
}

}  // namespace ddp::dist
