#include "launch/meeting_point.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <cerrno>

#include "base/error.h"

namespace ddp::launch {

MeetingPoint make_meeting_point() {
  MeetingPoint point;
  point.listener = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!point.listener || bind(point.listener.get(), generic, size) != 0 ||
      listen(point.listener.get(), SOMAXCONN) != 0 || getsockname(point.listener.get(), generic, &size) != 0) {
    throw training_error("cannot listen on loopback: " + errno_text(errno), "127.0.0.1");
  }
  point.port = ntohs(address.sin_port);
  return point;
}

}  // namespace ddp::launch
