#include "dist/backends/backend.h"

#include "base/limits.h"
#include "dist/watched_group.h"

namespace ddp::dist {

BackendRegistry& backends() {
  static BackendRegistry instance("backend");
  return instance;
}

Group connect(const GroupPointer& group, c10d::ProcessGroup::BackendType type, const BackendPointer& backend,
              const std::vector<c10::DeviceType>& devices) {
  group->setDefaultBackend(type);
  for (const c10::DeviceType device : devices) group->setBackend(device, type, backend);
  group->setGroupName("0");
  backend->setSequenceNumberForGroup();
  return Group(group.get(), [kept = group](c10d::ProcessGroup*) mutable { kept.reset(); });
}

GroupPointer watched_group(const StorePointer& store, const Membership& m) {
  if (m.device == "cpu" && m.world_size <= usable_cores()) {
    return c10::make_intrusive<AttentiveGroup>(m.progress, m.sums_as_tree, store, m.rank, m.world_size);
  }
  return c10::make_intrusive<WatchedGroup>(m.progress, m.sums_as_tree, store, m.rank, m.world_size);
}

}  // namespace ddp::dist
