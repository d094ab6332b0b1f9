#include <algorithm>
#include <chrono>

#include <ATen/ops/tensor.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "base/error.h"
#include "config/difference.h"
#include "dist/collective_op.h"
#include "dist/watched_group.h"
#include "dist/shm/arena.h"
#include "rank/process.h"
#include "rank/verbs.h"

namespace ddp::rank {
namespace {

// NCCL's work is complete only when its stream is synchronized.
void wait_for_device(c10::Device device) {
  if (device.is_cpu()) return;
  c10::impl::getDeviceGuardImpl(device.type())->synchronizeDevice(device.index());
}

void call(dist::CollectiveOp& op, std::int64_t times, c10::Device device) {
  for (std::int64_t i = 0; i < times; ++i) op.start()->wait();
  wait_for_device(device);
}

// Throws if ranks without a common parent were started with different options, because they would wait for each other.
void agree(const Task& t, const CommRequest& o, const dist::Group& control) {
  const config::Value mine = config::write(o);
  const auto of_rank_0 = config::Value::parse(dist::broadcast_text(control, mine.dump()));
  if (const auto differs = config::first_difference(of_rank_0, mine)) {
    throw training_error("this rank has other options than rank 0: --" + differs->key + " is " + differs->second +
                             ", not " + differs->first,
                         "rank " + std::to_string(t.rank), "start all ranks with the same command");
  }
}

// Returns the mean seconds of one call on this rank.
double time_calls(dist::CollectiveOp& op, const CommRequest& o, c10::Device device, const dist::Group& group) {
  // prepare() touches the memory pages; calm() prevents repeated sums from overflowing.
  op.prepare();
  op.calm();
  call(op, o.warmup, device);
  dist::barrier(group);
  const auto start = std::chrono::steady_clock::now();
  call(op, o.iterations, device);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(o.iterations);
}

dist::Mismatch check_values(dist::CollectiveOp& op, c10::Device device) {
  op.prepare();
  call(op, 1, device);
  return op.check();
}

// Combines the results of all ranks in `row`.
void gather_row(CommRow& row, double seconds, const dist::Mismatch& m, const dist::Group& group) {
  const at::Tensor mine =
      at::tensor({seconds, static_cast<double>(m.count), static_cast<double>(m.index), m.expected, m.got}, at::kDouble);
  const auto all = dist::all_gather(group, mine);
  for (int r = 0; r < static_cast<int>(all.size()); ++r) {
    const double* of_rank = all[r].const_data_ptr<double>();
    row.microseconds = std::max(row.microseconds, of_rank[0] * 1e6);
    const auto wrong = static_cast<std::int64_t>(of_rank[1]);
    if (wrong > 0 && row.wrong == 0) {
      row.rank = r;
      row.index = static_cast<std::int64_t>(of_rank[2]);
      row.expected = of_rank[3];
      row.got = of_rank[4];
    }
    row.wrong += wrong;
  }
}

// Creates the tensors in the shared arena, where DDP's buckets are.
dist::CollectiveOp make_op(const std::string& name, std::int64_t bytes, const CommRequest& o, c10::Device device,
                           const dist::Group& group) {
  const auto arena = dist::arena_of(group);
  if (arena) arena->reserve(static_cast<std::size_t>(*std::max_element(o.sizes.begin(), o.sizes.end())));
  const dist::SharedArena::Use in_arena(arena);
  return {name, bytes, dist::element_type(o.dtype), device, group};
}

CommRow measure_one(const std::string& name, std::int64_t bytes, const CommRequest& o, const Task& t,
                    const dist::Group& group) {
  const c10::Device device = first_device(t);
  dist::CollectiveOp op = make_op(name, bytes, o, device, group);
  CommRow row{.op = name, .bytes = op.bytes(), .elements = op.elements(), .bus_factor = op.bus_factor()};
  dist::Mismatch wrong;
  if (o.check) wrong = check_values(op, device);
  const double seconds = time_calls(op, o, device, group);
  gather_row(row, seconds, wrong, group);
  return row;
}

void measure_all(const Task& t, const CommRequest& o, const dist::Groups& groups, const TakeReply& reply) {
  auto& progress = t.progress->rank(t.rank);
  if (groups.control) agree(t, o, groups.control);
  progress.phase = record::Phase::measuring;
  for (const auto& op : o.ops) {
    for (const std::int64_t bytes : o.sizes) {
      const CommRow row = measure_one(op, bytes, o, t, groups.main);
      ++progress.step;
      reply(config::write(row));
    }
  }
  progress.phase = record::Phase::finished;
}

void measure(const CommRequest& o, const Task& t, const TakeReply& reply) {
  prepare_process(t);
  const dist::Groups groups = join_groups(t);
  naming_absent_ranks(t, groups, [&] { measure_all(t, o, groups, reply); });
  dist::leave(groups.main);
  dist::leave(groups.control);
}

const bool comm_registered =
    verbs().add<CommRequest>(CommRequest::kVerb, "times and checks collectives as one rank", measure);

}  // namespace
}  // namespace ddp::rank
