#include "catch.h"
#include "dist/shm/collectives.h"
#include "shared_ranks.h"

namespace ddp::dist {

TEST_CASE("slots that nobody used while the points of all ranks wrapped around are free") {
  const SharedMapping memory(8u << 20);
  all_well(2, [&](int rank, c10d::ProcessGroup&) {
    SharedSegment segment(memory.data(), memory.size(), rank, 2, 0);
    segment.join();
    const SharedArena none(-1, rank, 2);
    SharedCollectives collectives(segment, none);
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
