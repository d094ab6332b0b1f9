// The reductions of SharedCollectives.

#include <algorithm>
#include <vector>

#include "dist/shm/collectives.h"

namespace ddp::dist {
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
    combine_slots(slot, 0, data, count, r);
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
