#include "launch/cluster/meeting_point.h"

#include <filesystem>

#include "base/error.h"

namespace ddp::launch {

MeetingPlace MeetingPoint::place_for(int rank) const {
  return {.file = file.path(),
          .host = address.ip,
          .port = address.port,
          .listener = rank == 0 ? listener.get() : -1,
          .own_address = address.ip};
}

MeetingPoint make_meeting_point(const Plan& plan, const Launch& launch, const std::string& own_ip) {
  MeetingPoint point{.listener = {}, .address = {.ip = own_ip}, .file = MeetingFile()};
  if (launch.nodes == 1 && !launch.meeting_file.empty()) {
    std::error_code ignored;
    if (std::filesystem::exists(launch.meeting_file, ignored)) {
      throw usage_error("exists already: another run uses it, or a killed run left it", launch.meeting_file,
                        "remove it, or give another file in distributed.init_method");
    }
    point.file = MeetingFile(launch.meeting_file);
    return point;
  }
  if (launch.nodes == 1 && !launch.master_host.empty()) {
    point.address = resolve(launch.master_host, launch.master_port);
  }
  if (!plan.shares_memory() || launch.nodes > 1) point.listener = listen_on(point.address);
  return point;
}

MeetingPlace launched_meeting_place(const Launch& launch, FileDescriptor& listener) {
  if (launch.master_host.empty()) return {.file = launch.meeting_file, .own_address = outward_ip()};
  Address address = resolve(launch.master_host, launch.master_port);
  MeetingPlace place{.host = address.ip, .port = address.port, .own_address = own_ip_towards(address)};
  if (!launch.id.empty()) place.prefix = "ddp-exp/attempt-" + std::to_string(launch.attempt);
  if (launch.rank == 0 && !launch.store_is_there) {
    listener = listen_on(address);
    place.listener = listener.get();
  }
  return place;
}

}  // namespace ddp::launch
