#include "model/generators.h"

#include <mutex>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

namespace ddp::model {

at::Generator generator_of(const std::string& device) {
  const c10::Device where(device);
  return where.is_cpu() ? at::detail::getDefaultCPUGenerator() : at::globalContext().defaultGenerator(where);
}

UntouchedGenerator::UntouchedGenerator(at::Generator generator)
    : generator_(std::move(generator)), state_(generator_.get_state()) {}

void UntouchedGenerator::seed(std::uint64_t seed) {
  const std::lock_guard lock(generator_.mutex());
  generator_.set_current_seed(seed);
}

Generators::Generators(std::vector<std::string> devices, int logical)
    : devices_(std::move(devices)), states_(static_cast<std::size_t>(logical)) {}

void Generators::use(int logical) {
  if (states_.size() == 1 || logical == used_) return;
  std::vector<at::Generator> generators = {generator_of("cpu")};
  for (const std::string& device : devices_) {
    if (device != "cpu") generators.push_back(generator_of(device));
  }
  std::vector<at::Tensor> now;
  for (const at::Generator& generator : generators) now.push_back(generator.get_state());
  if (used_ == -1) {
    for (auto& states : states_) states = now;
  } else {
    states_[static_cast<std::size_t>(used_)] = std::move(now);
  }
  used_ = logical;
  const auto& wanted = states_[static_cast<std::size_t>(logical)];
  for (std::size_t i = 0; i < generators.size(); ++i) generators[i].set_state(wanted[i]);
}

}  // namespace ddp::model
