#include "launch/library/libtorch.h"

#include "build_stamp.h"

namespace ddp::launch {

const char* const kVersion = DDP_VERSION;

std::string build_id() { return std::string(kVersion) + "+" + DDP_BUILD_STAMP + ", compiler " + __VERSION__; }

}  // namespace ddp::launch
