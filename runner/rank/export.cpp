#include "rank/verbs.h"

#include <unistd.h>
#include <cerrno>

#include "checkpoint/store.h"
#include "format/safetensors.h"
#include "graph/trained_archive.h"

namespace ddp::rank {
namespace {

// Returns errno, or 0 on success.
int write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void export_archive(const ExportRequest& request, const Task&, const TakeReply& reply) {
  int error = 0;
  const graph::TakeBytes write = [&](std::string_view bytes) {
    if (error == 0) error = write_whole(static_cast<int>(request.descriptor), bytes);
  };
  if (request.weights.empty()) {
    graph::write_graph(request.archive, write);
  } else {
    graph::write_trained_archive(request.archive, format::map_safetensors(request.weights), request.evaluates, write);
  }
  reply(config::write(Exported{.error = error}));
}

const bool export_registered = verbs().add<ExportRequest>(
    ExportRequest::kVerb, "writes a model's own archive with trained weights", export_archive);

}  // namespace
}  // namespace ddp::rank
