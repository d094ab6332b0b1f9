#include "shared_ranks.h"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include <ATen/Parallel.h>

#include "base/shared_memory.h"
#include "catch.h"
#include "dist/process_group.h"

namespace ddp::dist {
namespace {

struct Place {
  int rank;
  int world_size;
  int machines;
  MeetingPlace meeting;
};

[[noreturn]] void be_rank(const Place& p, const RankBody& body, std::chrono::milliseconds timeout, int pipe) {
  std::string answer;
  try {
    at::set_num_threads(1);
    record::SharedProgress progress(p.world_size);
    const int ranks_here = p.world_size / p.machines;
    const Groups groups = join_process_groups({.backend = "shm",
                                               .rank = p.rank,
                                               .world_size = p.world_size,
                                               .ranks_here = ranks_here,
                                               .first_rank = p.rank / ranks_here * ranks_here,
                                               .device = "cpu",
                                               .meeting = p.meeting,
                                               .progress = progress.rank(p.rank),
                                               .timeout = timeout},
                                              /*control=*/false);
    body(p.rank, *groups.main);
  } catch (const std::exception& error) {
    answer = error.what();
  }
  const bool told = write(pipe, answer.data(), answer.size()) >= 0;
  _exit(told ? 0 : 1);
}

}  // namespace

SharedRanks::SharedRanks(int world_size, const RankBody& body, std::chrono::milliseconds timeout, int machines)
    : folder_((std::filesystem::temp_directory_path() / "ddp-exp-ranks-XXXXXX").string()) {
  if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder");
  std::vector<GroupMemory> memory;
  for (int m = 0; m < machines; ++m) memory.emplace_back(world_size / machines);
  for (int r = 0; r < world_size; ++r) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const MeetingPlace meeting =
        memory[static_cast<std::size_t>(r / (world_size / machines))].at({.file = folder_ + "/store"});
    const pid_t process = fork();
    if (process == 0) be_rank({r, world_size, machines, meeting}, body, timeout, ends[1]);
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
  std::filesystem::remove_all(folder_);
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

bool all_well(int world_size, const RankBody& body, int machines) {
  SharedRanks ranks(world_size, body, std::chrono::seconds(100), machines);
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
