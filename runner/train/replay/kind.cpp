#include "train/replay/kind.h"

#include <malloc.h>
#include <algorithm>
#include <utility>

namespace ddp::train {
namespace {

// Tells whether the same calls have kernels of ours in both recordings.
bool same_kernels(const Tape& first, const Tape& second) {
  return std::equal(first.calls.begin(), first.calls.end(), second.calls.begin(),
                    [](const Tape::Call& a, const Tape::Call& b) { return bool(a.kernel) == bool(b.kernel); });
}

}  // namespace

void Kind::begin(Surroundings around, const NamedTensors& buffers) {
  around_ = std::move(around);
  if (player_) comparison_.emplace(*player_, around_.batch, *around_.parameters, buffers, around_.buffers);
  if (!player_ || first_) recording_ = std::make_unique<Recording>();
}

void Kind::watch(std::optional<Recorder>& recorder) {
  const GradientWrites* const writes = comparison_ ? &comparison_->writes() : nullptr;
  if (recording_) {
    recorder.emplace(*recording_, writes);
  } else {
    recorder.emplace(*writes);
  }
}

void Kind::end(const NamedTensors& outputs, CommonMemory& common) {
  const std::unique_ptr<Recording> recording = std::move(recording_);
  std::optional<Tape> tape;
  if (recording) tape = tape_of(*recording, std::move(around_), tensors_of(outputs), calls_of_forward_);
  if (!player_) {
    first_ = tape;
    first_->drop_results();
    player_ = std::make_unique<Player>(std::move(*tape), common);
    return;
  }
  if (tape) {
    if (const std::string found = train::difference(*first_, *tape); !found.empty()) throw NotStatic{.reason = found};
  }
  const std::string found = comparison_->difference(outputs);
  comparison_.reset();
  if (!found.empty()) throw NotStatic{.reason = kOtherBits + found, .has_other_bits = true};
  // A kernel of ours that was right only once is left out; the player without it is compared once more.
  is_trusted_ = !tape || same_kernels(*first_, *tape);
  if (!is_trusted_) player_ = player_of(*first_, std::move(*tape), common);
  first_.reset();
  around_ = {};
  // The recordings held every tensor of their steps; malloc would keep that memory for this process.
  malloc_trim(0);
}

}  // namespace ddp::train
