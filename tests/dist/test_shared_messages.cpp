#include <ATen/Functions.h>

#include "catch.h"
#include "dist/shm/collectives.h"
#include "shared_ranks.h"

namespace ddp::dist {
namespace {

using Tensors = std::vector<at::Tensor>;
using Work = c10::intrusive_ptr<c10d::Work>;

constexpr std::int64_t kLarge = 3000017;  // more than a channel holds

at::Tensor message(int from, std::int64_t size) { return at::arange(size, at::kInt) + 7 * from; }

Work send(c10d::ProcessGroup& group, const at::Tensor& tensor, int to, int tag = 0) {
  Tensors one{tensor};
  return group.send(one, to, tag);
}

Work receive(c10d::ProcessGroup& group, const at::Tensor& tensor, int from, int tag = 0) {
  Tensors one{tensor};
  return group.recv(one, from, tag);
}

}  // namespace

TEST_CASE("ranks that send to each other before they receive do not block with messages of any size") {
  for (const std::int64_t size : {std::int64_t(0), std::int64_t(1), std::int64_t(1000), kLarge}) {
    all_well(2, [size](int rank, c10d::ProcessGroup& group) {
      const Work sent = send(group, message(rank, size), 1 - rank);
      const at::Tensor got = at::zeros({size}, at::kInt);
      receive(group, got, 1 - rank)->wait();
      sent->wait();
      require(at::equal(got, message(1 - rank, size)), "the other's message");
    });
  }
}

TEST_CASE("a message is delivered while its sender waits in a collective") {
  all_well(2, [](int rank, c10d::ProcessGroup& group) {
    const at::Tensor got = at::zeros({kLarge}, at::kInt);
    Work sent;
    if (rank == 0) {
      sent = send(group, message(0, kLarge), 1);
    } else {
      receive(group, got, 0)->wait();
    }
    group.barrier()->wait();
    if (rank == 0) sent->wait();
    if (rank == 1) require(at::equal(got, message(0, kLarge)), "the message");
  });
}

TEST_CASE("messages are distinguished by their tags and keep their order within one") {
  all_well(3, [](int rank, c10d::ProcessGroup& group) {
    if (rank > 0) {
      std::vector<Work> sent;
      for (const int tag : {5, 3, 5}) {
        sent.push_back(send(group, message(10 * rank + tag + 100 * static_cast<int>(sent.size()), kLarge / 4), 0, tag));
      }
      for (const Work& work : sent) work->wait();
      return;
    }
    for (const int from : {2, 1}) {
      for (const auto& [tag, nth] : std::vector<std::pair<int, int>>{{3, 1}, {5, 0}, {5, 2}}) {
        const at::Tensor got = at::zeros({kLarge / 4}, at::kInt);
        receive(group, got, from, tag)->wait();
        require(at::equal(got, message(10 * from + tag + 100 * nth, kLarge / 4)), "tag " + std::to_string(tag));
      }
    }
  });
}

TEST_CASE("a message received from any rank has its sender") {
  all_well(4, [](int rank, c10d::ProcessGroup& group) {
    if (rank > 0) {
      send(group, message(rank, 100), 0)->wait();
      group.barrier()->wait();
      return;
    }
    int seen = 0;
    for (int i = 0; i < 3; ++i) {
      Tensors got{at::zeros({100}, at::kInt)};
      const Work work = group.recvAnysource(got, 0);
      work->wait();
      require(at::equal(got[0], message(work->sourceRank(), 100)), "the message of its sender");
      seen |= 1 << work->sourceRank();
    }
    require(seen == 0b1110, "one of each");
    group.barrier()->wait();
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
