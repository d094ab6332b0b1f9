#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/cluster/job.h"
#include "launch/cluster/nodes.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/start/held_data.h"
#include "rank/verbs.h"
#include "runs/summary.h"

namespace ddp::runs {

// The ranks of a plan on this machine, for a request that they answer together.
class AskedRanks {
 public:
  // `task`: the part that is the same on every rank. All arguments must outlive this object. `silent`: nothing of what
  // the ranks print is for a person.
  AskedRanks(const launch::Plan& plan, const launch::RankLibrary& library, const launch::HeldData& data,
             rank::Task task, bool silent = false)
      : plan_(plan), library_(library), data_(data), task_(std::move(task)), silent_(silent) {}

  // Forks the ranks, watches them to their end, and passes on each reply of rank 0 when it comes. Throws ddp::Error if
  // a rank fails (usage if it refuses its input), and Stopped if a signal stops the ranks.
  template <class Request>
  void ask(const Request& request, const std::function<void(const typename Request::Reply&)>& take) const {
    ask([&](const rank::Task& task, const rank::TakeReply& reply) { return library_.serve(task, request, reply); },
        [&](const config::Value& reply) { take(config::read<typename Request::Reply>(reply)); });
  }

 private:
  void ask(const std::function<int(const rank::Task&, const rank::TakeReply&)>& serve,
           const rank::TakeReply& take) const;

  const launch::Plan& plan_;
  const launch::RankLibrary& library_;
  const launch::HeldData& data_;
  const rank::Task task_;
  const bool silent_;
};

// A measurement of the network: its ranks, its request, and a callback for each row.
struct Measuring {
  const launch::Plan& plan;
  const launch::RankLibrary& library;
  const rank::CommRequest& request;
  std::function<void(const rank::CommRow&)> take_row;
};

// Measures as node 0, or as the only node: forks the ranks and watches them to their end. Wrong values do not fail a
// rank.
Ending measure(const Measuring& measuring, launch::Nodes& nodes);

// Measures as one rank that torchrun or srun started. Only rank 0 passes on rows.
Ending measure_launched(const Measuring& measuring);

}  // namespace ddp::runs
