#pragma once

#include <c10/core/DispatchKey.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ddp::model {

// The key of the dispatcher, below autograd, under which train/replay records calls. C++ does not use it otherwise: it
// is of Python's fake tensors.
inline constexpr auto kRecordingKey = c10::DispatchKey::Fake;

// A recording leaves out the calls that this thread makes as long as it lives.
class Unrecorded {
 private:
  const c10::impl::ExcludeDispatchKeyGuard exclude_{kRecordingKey};
};

}  // namespace ddp::model
