#include "launch/held/shelf.h"

#include <utility>

#include "config/sizes.h"
#include "launch/held/hold.h"

namespace ddp::launch {

void DataShelf::expect(const Plan& plan) { ++expected_[data_key(plan)]; }

bool DataShelf::wants(const Plan& plan) const {
  if (kept_ != nullptr) return false;
  const std::string key = data_key(plan);
  const auto expected = expected_.find(key);
  return !key.empty() && expected != expected_.end() && expected->second > 1;
}

std::shared_ptr<const HeldData> DataShelf::hold(const RankLibrary& library, const config::Loaded& loaded,
                                                Plan& plan) const {
  if (kept_ != nullptr && data_key(plan) == key_) {
    fill_sizes(*kept_, loaded, plan);
    return kept_;
  }
  return std::make_shared<const HeldData>(hold_data(library, loaded, plan));
}

void DataShelf::keep(const Plan& plan, std::shared_ptr<const HeldData> data) {
  // Without facts nothing was prepared that trials could share.
  if (data->facts().empty() || !wants(plan)) return;
  key_ = data_key(plan);
  kept_ = std::move(data);
}

std::vector<int> DataShelf::descriptors() const { return kept_ == nullptr ? std::vector<int>() : kept_->kept(); }

}  // namespace ddp::launch
