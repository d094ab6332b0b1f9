#include "base/heap.h"

#include <malloc.h>

namespace ddp {
namespace {

constexpr int kMostMappings = 1 << 15;  // half of what the kernel allows a process
constexpr int kLarge = 128 << 10;       // bytes

}  // namespace

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
}

void share_one_heap() { mallopt(M_ARENA_MAX, 1); }

ReturnedMemory::ReturnedMemory() {
  malloc_trim(0);
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_MMAP_MAX, kMostMappings);
}

ReturnedMemory::~ReturnedMemory() { mallopt(M_MMAP_MAX, 0); }

}  // namespace ddp
