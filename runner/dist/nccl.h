#pragma once

#include "dist/process_group.h"

namespace ddp::dist {

// The only symbol of libddp_nccl.so.
inline constexpr const char* kMakeNccl = "ddp_make_nccl";
using MakeNccl = void(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership,
                      c10::intrusive_ptr<c10d::Backend>& backend);

}  // namespace ddp::dist
