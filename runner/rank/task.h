#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/meeting_place.h"
#include "config/components.h"
#include "config/experiment.h"
#include "record/progress_page.h"

// What crosses from the parent, which knows no torch, to the rank library, which the parent loads just before
// it forks the ranks.
namespace ddp::rank {

// Everything a rank needs to know about its place in the run.
struct Task {
  const config::Experiment* experiment = nullptr;  // resolved: threads, batch_size and backend are set
  std::string config_hash = {};
  int rank = 0;
  int world_size = 1;
  int ranks_here = 1;                     // of this machine, forked by this rank's parent
  int first_rank = 0;                     // of this machine
  std::vector<std::string> devices = {};  // this rank's group: "cpu" or "cuda:3"
  std::string device_names = {};          // the same for people: "cuda:3 NVIDIA H100 (0000:65:00.0, GPU-…)"
  std::filesystem::path run_directory = {};
  bool resumed = false;                    // goes on in a run directory that was there
  std::string changes = {};                // of its experiment since then, a JSON object: {"batch_size": [32, 16]}
  std::filesystem::path resume_from = {};  // the complete checkpoint to go on from; empty: from the start
  std::filesystem::path init_from = {};    // a .safetensors file to take weights from
  std::int64_t until_epoch = 0;            // stops, saved, when so many epochs are done; 0: at its end
  MeetingPlace meeting = {};
  int console = -1;  // a pipe: whole lines for the parent to show
  record::ProgressPage* progress = nullptr;
  // All ranks were forked by one parent: they share `progress`, and the run directory. Else rank 0 alone has that.
  bool together = true;
  bool timed = false;   // a try also takes the time of a step
  bool watched = true;  // a parent watches this rank, and can tell who stays away
};

// What only tensors can tell, from a throw-away child.
struct Probe {
  // Why this experiment cannot be trained (empty: it can), the key or file that is to blame, and what to do.
  std::string error;
  std::string where;
  std::string remedy;
  std::vector<std::string> warnings;
  std::int64_t parameters = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t buffer_bytes = 0;
  std::int64_t optimizer_bytes = 0;
  std::int64_t samples = 0;  // of the whole dataset; 0: endless
  double step_seconds = 0;   // about what a step takes; 0: it was not asked for
};

// The entry points of libddp_rank.so, found by dlsym.
extern "C" {
// Trains as one rank. Returns the process's exit code: 0 done, 1 failed (told on the progress page).
int ddp_rank_train(const Task* task);
// Builds the model and one batch on the CPU, runs forward and loss, and tries the weights and the state that the
// task goes on from. Of the task, only what is the same for all ranks is looked at.
void ddp_rank_probe(const Task* task, Probe* probe);
// Lists every component that registered itself.
void ddp_rank_components(config::Components* components);
}

}  // namespace ddp::rank
