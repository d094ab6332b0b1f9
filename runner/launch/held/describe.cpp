#include "launch/held/describe.h"

#include <string>

#include "launch/probe/probe_cache.h"
#include "rank/describe.h"

namespace ddp::launch {
namespace {

template <class Request>
config::Value ask_about_data(const RankLibrary& library, const Plan& plan, const HeldData& data,
                             const Request& request = {}) {
  rank::Task task;
  task.experiment = &plan.experiment;
  task.world_size = plan.world_size();
  task.devices = plan.groups.front();
  task.held_data = data.file();
  return library.ask("looking at the data", task, request, data.kept()).value;
}

}  // namespace

config::Value describe_data(const RankLibrary& library, const Plan& plan, const HeldData& data) {
  // The first batch of rank 0 depends on the world size, including ranks of other machines.
  const std::string key = probe_key(plan, {});
  const std::string entry = key.empty() ? "" : "data-" + key + "-" + std::to_string(plan.world_size());
  if (const auto known = find_reply(entry)) return *known;
  const config::Value description = ask_about_data<rank::DescribeRequest>(library, plan, data);
  keep_reply(entry, description);
  return description;
}

config::Value preview_data(const RankLibrary& library, const Plan& plan, const HeldData& data) {
  return ask_about_data<rank::PreviewRequest>(library, plan, data);
}

config::Value draws_of_data(const RankLibrary& library, const Plan& plan, const HeldData& data, std::int64_t samples) {
  return ask_about_data(library, plan, data, rank::DrawsRequest{.samples = samples});
}

}  // namespace ddp::launch
