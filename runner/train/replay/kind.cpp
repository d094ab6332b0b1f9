#include "train/replay/kind.h"

#include <algorithm>
#include <utility>

namespace ddp::train {
namespace {

// Tells whether each kernel of ours in the first recording was right in the second one too.
bool kernels_hold(const Tape& first, const Tape& second) {
  return std::equal(first.calls.begin(), first.calls.end(), second.calls.begin(),
                    [](const Tape::Call& a, const Tape::Call& b) { return !a.kernel || b.kernel; });
}

}  // namespace

void Kind::begin(Surroundings around, const NamedTensors& buffers, std::size_t most_bytes) {
  around_ = std::move(around);
  if (player_) comparison_.emplace(*player_, around_.batch, *around_.parameters, buffers, around_.buffers);
  recording_ = std::make_unique<Recording>(Recording{.most_bytes = most_bytes});
}

void Kind::watch(std::optional<Recorder>& recorder) {
  recorder.emplace(*recording_, comparison_ ? &comparison_->writes() : nullptr);
}

void Kind::end(const NamedTensors& outputs, CommonMemory& common) {
  Tape tape = tape_of(*recording_, std::move(around_), tensors_of(outputs), calls_of_forward_);
  if (player_) {
    if (const std::string found = train::difference(*first_, tape); !found.empty()) throw NotStatic{.reason = found};
    const std::string found = comparison_->difference(outputs);
    comparison_.reset();
    if (!found.empty()) throw NotStatic{.reason = kOtherBits + found, .has_other_bits = true};
    is_trusted_ = kernels_hold(*first_, tape);
    leave_out_new_kernels(*first_, tape);
  }
  first_.reset();
  if (!is_trusted_) {
    first_ = tape;
    first_->drop_results();
    player_ = std::make_unique<Player>(std::move(tape), common);
  }
  recording_.reset();
}

}  // namespace ddp::train
