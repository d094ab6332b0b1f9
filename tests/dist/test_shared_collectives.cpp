#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "catch.h"
#include "dist/shm/collectives.h"
#include "shared_ranks.h"
#include "words.h"

namespace ddp::dist {
namespace {

using at::Tensor;
using c10d::ReduceOp;
using Tensors = std::vector<Tensor>;

const std::vector<int> kWorlds{1, 2, 3, 4, 8};
// Nothing, one element, odd sizes, the sizes of a small and of a large reduction, and more than all slots hold.
const std::vector<std::int64_t> kSizes{0, 1, 7, 1000, 20011, 500009};
const std::vector<at::ScalarType> kFloating{at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};
const std::vector<at::ScalarType> kWhole{at::kByte, at::kChar, at::kShort, at::kInt, at::kLong};

// A rank's values: small whole numbers, because these have exact sums in any order and type.
Tensor values(int rank, std::int64_t size, at::ScalarType type) {
  const Tensor number = (at::arange(size, at::kLong) * (rank + 1) + rank) % 3;
  return type == at::kBool ? number == 1 : number.to(type);
}

// The result that at:: computes, one rank after the other.
Tensor reduced(ReduceOp::RedOpType op, int world, std::int64_t size, at::ScalarType type) {
  Tensor all = values(0, size, type);
  for (int r = 1; r < world; ++r) {
    const Tensor one = values(r, size, type);
    switch (op) {
      case ReduceOp::SUM:
      case ReduceOp::AVG:
        all = type == at::kBool ? at::logical_or(all, one) : all + one;
        break;
      case ReduceOp::PRODUCT:
        all = all * one;
        break;
      case ReduceOp::MIN:
        all = at::minimum(all, one);
        break;
      case ReduceOp::MAX:
        all = at::maximum(all, one);
        break;
      case ReduceOp::BAND:
        all = at::bitwise_and(all, one);
        break;
      case ReduceOp::BOR:
        all = at::bitwise_or(all, one);
        break;
      default:
        all = at::bitwise_xor(all, one);
    }
  }
  if (op != ReduceOp::AVG) return all;
  return at::isFloatingType(type) ? all / world : at::floor_divide(all, world);
}

void require_equal(const Tensor& got, const Tensor& wanted, const std::string& what) {
  require(got.scalar_type() == wanted.scalar_type() && at::equal(got, wanted),
          what + " of " + std::to_string(wanted.numel()) + " " + c10::toString(wanted.scalar_type()));
}

void all_reduce(c10d::ProcessGroup& group, const Tensor& tensor, ReduceOp::RedOpType op = ReduceOp::SUM) {
  Tensors tensors{tensor};
  c10d::AllreduceOptions options;
  options.reduceOp = op;
  group.allreduce(tensors, options)->wait();
}

void check_all_reduce(const std::vector<at::ScalarType>& types, const std::vector<ReduceOp::RedOpType>& ops) {
  for (const int world : kWorlds) {
    all_well(world, [&](int rank, c10d::ProcessGroup& group) {
      for (const auto size : kSizes) {
        for (const auto type : types) {
          for (const auto op : ops) {
            // Large data is divided in the same way for every operation: SUM and AVG are enough.
            if (size > 30000 && op != ReduceOp::SUM && op != ReduceOp::AVG) continue;
            const Tensor mine = values(rank, size, type);
            all_reduce(group, mine, op);
            require_equal(mine, reduced(op, world, size, type), "all-reduce " + std::to_string(op));
          }
        }
      }
    });
  }
}

// The data of a rank in the tests that move data.
Tensor piece(int rank, std::int64_t size, int of = 0) { return at::arange(size, at::kInt) + 1000000 * rank + of; }

Tensors empties(int count, std::int64_t size) {
  Tensors list;
  for (int i = 0; i < count; ++i) list.push_back(at::full({size}, -1, at::kInt));
  return list;
}

}  // namespace

TEST_CASE("an all-reduce of floating-point numbers gives the result of at:: for any size and any world") {
  check_all_reduce(kFloating, {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::PRODUCT, ReduceOp::MIN, ReduceOp::MAX});
}

TEST_CASE("an all-reduce of whole numbers gives the result of at:: for any size and any world") {
  check_all_reduce(kWhole, {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::PRODUCT, ReduceOp::MIN, ReduceOp::MAX,
                            ReduceOp::BAND, ReduceOp::BOR, ReduceOp::BXOR});
}

TEST_CASE("an all-reduce of booleans gives booleans") {
  check_all_reduce({at::kBool},
                   {ReduceOp::SUM, ReduceOp::MIN, ReduceOp::MAX, ReduceOp::BAND, ReduceOp::BOR, ReduceOp::BXOR});
}

TEST_CASE("an unsupported reduction is refused and the group continues") {
  all_well(2, [](int rank, c10d::ProcessGroup& group) {
    const auto refused = [&](const Tensor& tensor, ReduceOp::RedOpType op) {
      try {
        all_reduce(group, tensor, op);
        return false;
      } catch (const c10::Error&) {
        return true;
      }
    };
    require(refused(at::ones({3}, at::kComplexFloat), ReduceOp::SUM), "complex numbers");
    require(refused(at::ones({3}), ReduceOp::BAND), "bits of floating numbers");
    require(refused(at::ones({3}, at::kBool), ReduceOp::AVG), "the mean of truth values");
    const Tensor one = at::full({3}, rank, at::kInt);
    all_reduce(group, one);
    require_equal(one, at::full({3}, 1, at::kInt), "sum");
  });
}

TEST_CASE("sums are added in rank order, with the same bits in every run") {
  for (const int world : {2, 3, 4, 8}) {
    all_well(world, [world](int rank, c10d::ProcessGroup& group) {
      for (const std::int64_t size : {5, 3001, 400003}) {
        Tensors all;
        for (int r = 0; r < world; ++r) {
          at::manual_seed(static_cast<std::uint64_t>(r + 1));
          all.push_back(at::randn({size}));
        }
        Tensor wanted = all[0].clone();
        for (int r = 1; r < world; ++r) wanted = wanted + all[r];
        for (int time = 0; time < 3; ++time) {
          const Tensor mine = all[rank].clone();
          all_reduce(group, mine);
          require_equal(mine, wanted, "sum in rank order");
        }
      }
    });
  }
}

TEST_CASE("tensors of any strides are reduced and broadcast by their indices") {
  all_well(2, [](int rank, c10d::ProcessGroup& group) {
    const Tensor whole = at::zeros({40, 30});
    const Tensor columns = whole.t().slice(0, 3, 9);  // neither contiguous nor dense
    columns.copy_(at::arange(240).view({6, 40}) * (rank + 1));
    all_reduce(group, columns);
    require_equal(columns, at::arange(240).view({6, 40}).to(at::kFloat) * 3, "sum of columns");
    require(at::equal(whole.slice(1, 0, 3), at::zeros({40, 3})), "values between stay unchanged");
    Tensors sent{columns};
    if (rank == 1) columns.zero_();
    group.broadcast(sent, {})->wait();
    require_equal(columns, at::arange(240).view({6, 40}).to(at::kFloat) * 3, "broadcast columns");
  });
}

TEST_CASE("data is moved whole for any size, any world and every root") {
  for (const int world : kWorlds) {
    all_well(world, [world](int rank, c10d::ProcessGroup& group) {
      for (const auto size : kSizes) {
        Tensors mine{piece(rank, size)};
        std::vector<Tensors> gathered{empties(world, size)};
        group.allgather(gathered, mine)->wait();
        for (int r = 0; r < world; ++r) require_equal(gathered[0][r], piece(r, size), "all-gather");

        Tensor joined = at::empty({world * size}, at::kInt);
        group._allgather_base(joined, mine[0])->wait();
        for (int r = 0; r < world; ++r) {
          require_equal(joined.slice(0, r * size, (r + 1) * size), piece(r, size), "all-gather into one tensor");
        }
        for (const int root : {0, world - 1}) {
          Tensors sent{rank == root ? piece(root, size) : at::zeros({size}, at::kInt)};
          c10d::BroadcastOptions broadcast;
          broadcast.rootRank = root;
          group.broadcast(sent, broadcast)->wait();
          require_equal(sent[0], piece(root, size), "broadcast");

          c10d::GatherOptions gather;
          gather.rootRank = root;
          std::vector<Tensors> all;
          if (rank == root) all.push_back(empties(world, size));
          group.gather(all, mine, gather)->wait();
          for (int r = 0; rank == root && r < world; ++r) require_equal(all[0][r], piece(r, size), "gather");

          c10d::ScatterOptions scatter;
          scatter.rootRank = root;
          std::vector<Tensors> parts;
          if (rank == root) parts.emplace_back();
          for (int r = 0; rank == root && r < world; ++r) parts[0].push_back(piece(r, size, 17));
          Tensors got = empties(1, size);
          group.scatter(got, parts, scatter)->wait();
          require_equal(got[0], piece(rank, size, 17), "scatter");

          c10d::ReduceOptions reduce;
          reduce.rootRank = root;
          Tensors summed{values(rank, size, at::kFloat)};
          group.reduce(summed, reduce)->wait();
          const Tensor wanted =
              rank == root ? reduced(ReduceOp::SUM, world, size, at::kFloat) : values(rank, size, at::kFloat);
          require_equal(summed[0], wanted, "reduce");
        }
      }
    });
  }
}

TEST_CASE("a collective that the backend does not have is refused by its name and the group continues") {
  all_well(2, [](int rank, c10d::ProcessGroup& group) {
    const auto refusal_of = [](const auto& call) {
      try {
        call();
        return std::string();
      } catch (const c10::Error& error) {
        return error.msg();
      }
    };
    Tensors one{at::ones({3})}, two = empties(2, 3);
    std::vector<Tensors> parts{two};
    for (const std::string& text :
         {refusal_of([&] { group.reduce_scatter(one, parts); }), refusal_of([&] { group.alltoall(two, two); }),
          refusal_of([&] { group.send(one, 1 - rank, 0); })}) {
      require(contains(text, "Backend shm does not support"), text);
    }
    const Tensor sum = at::full({3}, rank, at::kInt);
    all_reduce(group, sum);
    require_equal(sum, at::full({3}, 1, at::kInt), "sum");
  });
}

TEST_CASE("many concurrent all-reduces each end with their own sum") {
  for (const int world : {2, 3, 8}) {
    all_well(world, [world](int rank, c10d::ProcessGroup& group) {
      Tensors tensors;
      std::vector<c10::intrusive_ptr<c10d::Work>> works;
      for (int i = 0; i < 40; ++i) {
        tensors.push_back(at::full({i % 4 == 0 ? 300000 : 10 + i}, i * (rank + 1)));
        Tensors one{tensors.back()};
        works.push_back(group.allreduce(one));
      }
      for (int i = 39; i >= 0; --i) {
        works[i]->wait();
        require_equal(tensors[i], at::full_like(tensors[i], i * world * (world + 1) / 2), "sum " + std::to_string(i));
        require(works[i]->getFuture()->value().toTensorVector().at(0).is_same(tensors[i]), "the future has the tensor");
      }
    });
  }
}

TEST_CASE("the group waits for a rank that comes late") {
  Flag first_is_close, others_wait;
  all_well(3, [&](int rank, c10d::ProcessGroup& group) {
    // The other ranks are at the all-reduce, or close to it, when the last one arrives.
    if (rank == 2) others_wait.wait();
    if (rank == 0) first_is_close.raise();
    if (rank == 1) {
      first_is_close.wait();
      others_wait.raise();
    }
    const Tensor one = at::full({5}, rank);
    all_reduce(group, one);
    require_equal(one, at::full({5}, 3), "sum");
  });
}

TEST_CASE("slots that nobody used while the points of all ranks wrapped around are free") {
  const SharedMapping memory(8u << 20);
  all_well(2, [&](int rank, c10d::ProcessGroup&) {
    record::RankProgress progress;
    SharedSegment segment(memory.data(), memory.size(), rank, 2, 0, progress);
    segment.join();
    const SharedArena none(-1, rank, 2);
    SharedCollectives collectives(segment, none, /*as_tree=*/false);
    const Call call{.name = "broadcast", .timeout = std::chrono::seconds(20)};
    const auto use_all_slots = [&] {
      for (int slot = 0; slot < SharedSegment::kSlots; ++slot) {
        int number = 7 + rank;
        collectives.broadcast(reinterpret_cast<std::byte*>(&number), sizeof number, 0, call);
        require(number == 7, "the data of rank 0");
      }
    };
    use_all_slots();
    for (int quarter = 0; quarter < 3; ++quarter) {
      segment.post(1u << 30);
      collectives.barrier(call);
    }
    use_all_slots();
  });
}

}  // namespace ddp::dist
