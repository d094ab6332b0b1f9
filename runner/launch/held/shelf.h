#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/load.h"
#include "launch/held/held_data.h"

namespace ddp::launch {

// The data that several trials of a sweep train on, prepared once. It keeps those of one plan alone: the trials of
// others prepare theirs, so that memory stays within one copy for each trial that runs, and one.
class DataShelf {
 public:
  // Tells that a run of this plan is to come: what several of them share is worth keeping.
  void expect(const Plan& plan);
  // Whether the data of this plan would be kept and are not there yet.
  bool wants(const Plan& plan) const;

  // Returns the data of a plan, kept or prepared, and fills in sizes as hold_data does. Throws what it throws.
  std::shared_ptr<const HeldData> hold(const RankLibrary& library, const config::Loaded& loaded, Plan& plan) const;
  // Keeps what hold() returned for this plan, where wants() says so.
  void keep(const Plan& plan, std::shared_ptr<const HeldData> data);

  // The descriptors that have to stay open in a process that trains a trial.
  std::vector<int> descriptors() const;

 private:
  std::map<std::string, int> expected_;  // by data_key
  std::string key_;                      // of `kept_`
  std::shared_ptr<const HeldData> kept_;
};

}  // namespace ddp::launch
