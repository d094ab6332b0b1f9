#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/load.h"
#include "launch/held/held_data.h"

namespace ddp::launch {

// The data that several trials of a sweep train on, prepared once. The shelf keeps the data of one plan only; trials of
// other plans prepare their own. Memory therefore holds at most one copy for each running trial, plus one.
class DataShelf {
 public:
  // Announces a trial of this plan: data that several trials share are worth keeping.
  void expect(const Plan& plan);
  // Returns whether the shelf would keep the data of this plan and has none yet.
  bool wants(const Plan& plan) const;

  // Returns the data of a plan, kept or newly prepared, and fills in sizes. Throws as hold_data does.
  std::shared_ptr<const HeldData> hold(const RankLibrary& library, const config::Loaded& loaded, Plan& plan) const;
  // Keeps the result of hold() for this plan if wants() says so.
  void keep(const Plan& plan, std::shared_ptr<const HeldData> data);

  // The descriptors that must stay open in a process that trains a trial.
  std::vector<int> descriptors() const;

 private:
  std::map<std::string, int> expected_;  // by data_key
  std::string key_;                      // of `kept_`
  std::shared_ptr<const HeldData> kept_;
};

}  // namespace ddp::launch
