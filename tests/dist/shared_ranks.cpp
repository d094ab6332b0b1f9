#include "shared_ranks.h"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <stdexcept>

#include <ATen/Parallel.h>

#include "base/group_memory.h"
#include "catch.h"
#include "dist/process_group.h"

namespace ddp::dist {
namespace {

[[noreturn]] void be_rank(int rank, int world_size, const GroupMemory& memory, const RankBody& body,
                          std::chrono::milliseconds timeout, int pipe) {
  std::string answer;
  try {
    at::set_num_threads(1);
    record::ProgressPage progress(world_size);
    const Groups groups = join_process_groups({.backend = "shm",
                                               .rank = rank,
                                               .world_size = world_size,
                                               .device = "cpu",
                                               .meeting = memory.at({}),
                                               .progress = progress.rank(rank),
                                               .timeout = timeout},
                                              /*control=*/false);
    body(rank, *groups.main);
  } catch (const std::exception& error) {
    answer = error.what();
  }
  const bool told = write(pipe, answer.data(), answer.size()) >= 0;
  _exit(told ? 0 : 1);
}

}  // namespace

SharedRanks::SharedRanks(int world_size, const RankBody& body, std::chrono::milliseconds timeout) {
  const GroupMemory memory(world_size);
  for (int r = 0; r < world_size; ++r) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t process = fork();
    if (process == 0) be_rank(r, world_size, memory, body, timeout, ends[1]);
    close(ends[1]);
    ranks_.push_back({process, ends[0]});
  }
}

SharedRanks::~SharedRanks() {
  for (const Rank& rank : ranks_) {
    if (rank.process > 0) kill(rank.process, SIGKILL);
    if (rank.process > 0) waitpid(rank.process, nullptr, 0);
    close(rank.pipe);
  }
}

std::string SharedRanks::answer(int rank) {
  std::string text;
  char piece[4096];
  for (ssize_t size; (size = read(ranks_.at(rank).pipe, piece, sizeof piece)) > 0;) text.append(piece, size);
  return text;
}

bool SharedRanks::ended_well(int rank) {
  int status = 0;
  const pid_t process = std::exchange(ranks_.at(rank).process, -1);
  return process > 0 && waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::vector<std::string> SharedRanks::answers() {
  std::vector<std::string> all;
  for (std::size_t r = 0; r < ranks_.size(); ++r) all.push_back(answer(static_cast<int>(r)));
  return all;
}

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

bool all_well(int world_size, const RankBody& body) {
  SharedRanks ranks(world_size, body);
  bool well = true;
  const auto answers = ranks.answers();
  for (int r = 0; r < world_size; ++r) {
    INFO("rank " << r << " of " << world_size << ": " << answers[r]);
    CHECK(answers[r].empty());
    const bool ended_well = ranks.ended_well(r);
    CHECK(ended_well);
    well = well && ended_well && answers[r].empty();
  }
  return well;
}

}  // namespace ddp::dist
