#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace ddp::model {

// LibTorch's default generator of a device: "cpu", "cuda:3".
at::Generator generator_of(const std::string& device);

// Restores the state of a generator at its end.
class UntouchedGenerator {
 public:
  explicit UntouchedGenerator(at::Generator generator);
  ~UntouchedGenerator() { generator_.set_state(state_); }
  UntouchedGenerator(const UntouchedGenerator&) = delete;
  UntouchedGenerator& operator=(const UntouchedGenerator&) = delete;

  // Draws the numbers of this seed until then.
  void seed(std::uint64_t seed);

 private:
  at::Generator generator_;
  const at::Tensor state_;
};

// The random generators of a rank that computes several logical ranks, one after another. The default generators of its
// devices are those of one logical rank at a time.
class Generators {
 public:
  // `devices`: of the rank. `logical`: the number of its logical ranks.
  Generators(std::vector<std::string> devices, int logical);

  int logical() const { return static_cast<int>(states_.size()); }
  const std::vector<std::string>& devices() const { return devices_; }
  // Makes the default generators those of a logical rank of this rank, counted from 0. At the first call, those of all
  // logical ranks are as the default ones are then.
  void use(int logical);

 private:
  const std::vector<std::string> devices_;
  std::vector<std::vector<at::Tensor>> states_;  // of each logical rank that is not in use: of each device
  int used_ = -1;
};

}  // namespace ddp::model
