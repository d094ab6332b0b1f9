#include "base/group_memory.h"

#include <sys/mman.h>

namespace ddp {
namespace {

// Address space only: a memory page counts once it is written to.
constexpr std::size_t kBytesPerRank = 4u << 20;

}  // namespace

GroupMemory::GroupMemory(int ranks)
    : mapping_(kBytesPerRank * static_cast<std::size_t>(ranks)), file_(memfd_create("ddp-exp", MFD_CLOEXEC)) {}

MeetingPlace GroupMemory::at(MeetingPlace place) const {
  place.memory = mapping_.data();
  place.memory_bytes = mapping_.size();
  place.shared_file = file_.get();
  return place;
}

}  // namespace ddp
