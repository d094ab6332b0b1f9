#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include <ATen/core/PhiloxRNGEngine.h>

#include "config/option/value.h"

namespace ddp::datasets {

// The position of a micro-batch in a run.
struct MicroBatchPosition {
  std::int64_t step = 0;         // of the run, below 2^32
  std::int64_t micro_batch = 0;  // of the step, below 2^23
  int rank = 0;                  // below 2^16
};

// Receives the random values of a transform, under the names of v2's make_params, and stores them in the listener.
// Without a listener it drops them.
class DrawLog {
 public:
  DrawLog() = default;
  explicit DrawLog(config::Value& listener) : listener_(&listener) {}

  template <class T>
  void operator()(const char* name, T&& value) const {
    if (listener_) (*listener_)[name] = std::forward<T>(value);
  }
  bool has_listener() const { return listener_ != nullptr; }

 private:
  config::Value* listener_ = nullptr;
};

// The random numbers of one sample in one epoch, or at one place of a run: Philox4x32-10 (Salmon et al. 2011), keyed by
// the seed, with the epoch or place and the sample in its counter. The numbers are the same on every rank, in every
// thread, and after a resume at any step. The global generator is not used.
class Draws {
 public:
  // `epoch` is below 2^32.
  Draws(std::uint64_t seed, std::int64_t epoch, std::int64_t sample)
      : philox_(seed, static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(epoch) << 32) {}
  // `sample` is the index in the micro-batch, below 2^24. The highest bit separates places from epochs, so that they
  // never share numbers.
  Draws(std::uint64_t seed, const MicroBatchPosition& place, std::int64_t sample)
      : philox_(seed,
                std::uint64_t{1} << 63 | static_cast<std::uint64_t>(place.micro_batch) << 40 |
                    static_cast<std::uint64_t>(place.rank) << 24 | static_cast<std::uint64_t>(sample),
                static_cast<std::uint64_t>(place.step) << 32) {}

  // Returns 32 random bits.
  std::uint32_t bits() { return philox_(); }
  // Returns a number in [0, 1), with 53 random bits.
  double uniform() { return static_cast<double>(bits64() >> 11) * 0x1p-53; }
  // Returns an integer in [0, n) with equal probabilities; n is at least 1.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t unfair = (0 - n) % n;  // 2^64 mod n; draws below it would favour some remainders
    for (;;) {
      const std::uint64_t drawn = bits64();
      if (drawn >= unfair) return drawn % n;
    }
  }
  // Returns a number of the standard normal distribution (Box and Muller 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t bits64() {
    const std::uint64_t first = bits();
    return first << 32 | bits();
  }

  at::philox_engine philox_;
};

}  // namespace ddp::datasets
