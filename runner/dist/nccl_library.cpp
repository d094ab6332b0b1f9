#include <dlfcn.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "base/error.h"
#include "base/installation.h"
#include "dist/nccl.h"
#include "dist/process_group.h"

namespace ddp::dist {

c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, const Membership& m) {
  void* library = dlopen("libddp_nccl.so", RTLD_NOW | RTLD_GLOBAL);
  auto* make = library == nullptr ? nullptr : reinterpret_cast<MakeNccl*>(dlsym(library, kMakeNccl));
  if (make == nullptr) {
    throw training_error(std::string("NCCL cannot be loaded: ") + dlerror(), "backend nccl", how_to_mend(true));
  }
  c10::intrusive_ptr<c10d::Backend> backend;
  make(store, m, backend);
  return backend;
}

}  // namespace ddp::dist
