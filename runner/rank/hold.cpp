#include "rank/hold.h"

#include "format/safetensors.h"
#include "rank/data.h"
#include "rank/verb.h"

namespace ddp::rank {
namespace {

void hold(const HoldRequest& request, const Task& task, const TakeReply& reply) {
  const data::Sets sets = build_sets(task, request.whole);
  if (!request.file.empty()) format::write_safetensors(request.file, data::hold(sets));
  reply(config::write(DataFacts{.facts = data::facts_of(sets)}));
}

const bool hold_registered =
    verbs().add<HoldRequest>(HoldRequest::kVerb, "prepares the data that all ranks of a node map", hold);

}  // namespace
}  // namespace ddp::rank
