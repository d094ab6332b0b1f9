// Bytes that arrive at node 0's port, or from a node that has joined.
#include <sys/socket.h>
#include <algorithm>

#include "base/error.h"
#include "config/difference.h"
#include "launch/cluster/node_link.h"
#include "launch/cluster/node_watch.h"
#include "target.h"

namespace ddp::fuzz {
namespace {

using config::Value;

const Value kTerms{{"build", "x"}, {"nnodes", 2}, {"experiment", {{"epochs", 1}, {"hidden", {1, 2}}}}};

void take(const launch::message::Any& message) {
  static record::SharedProgress shared(4);
  static const launch::Plan own = [] {
    launch::Plan plan;
    plan.groups = {{"cpu"}, {"cpu"}};
    return plan;
  }();
  if (const auto* hello = std::get_if<launch::message::Hello>(&message)) {
    if (const auto differs = config::first_difference(kTerms, hello->terms)) {
      require(is_showable(differs->key + differs->first + differs->second), "a difference is fit for a terminal");
    }
  }
  if (const auto* alive = std::get_if<launch::message::Alive>(&message)) launch::note_standing(*alive, shared, own);
  for (int rank = 0; rank < shared.ranks(); ++rank) record::standing(shared.rank(rank));
}

}  // namespace
}  // namespace ddp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  int ends[2];
  fuzz::require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a pair of sockets can be made");
  FileDescriptor stranger(ends[0]);
  launch::NodeLink link{FileDescriptor(ends[1])};
  while (size > 0 && !link.closed()) {
    // A full connection takes the rest later.
    const ssize_t sent = ::send(stranger.get(), data, std::min<std::size_t>(size, 4096), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      data += sent;
      size -= static_cast<std::size_t>(sent);
    }
    for (const auto& message : link.receive()) fuzz::take(message);
  }
  stranger.close();
  for (const auto& message : link.receive()) fuzz::take(message);
  fuzz::require(link.closed(), "a link ends with its other end");
  return 0;
}
