#include "launch/plan/gpus.h"

#include <dlfcn.h>
#include <array>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/file_descriptor.h"
#include "launch/process/child.h"

namespace ddp::launch {
namespace {

// The few functions of the CUDA driver API that name devices. They are declared here, so the program builds and runs
// without CUDA (https://docs.nvidia.com/cuda/cuda-driver-api).
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}

  nlohmann::json devices() const {
    auto list = nlohmann::json::array();
    const auto init = function<int(unsigned)>("cuInit");
    const auto count_of = function<int(int*)>("cuDeviceGetCount");
    int count = 0;
    if (init == nullptr || count_of == nullptr || init(0) != 0 || count_of(&count) != 0) return list;
    for (int device = 0; device < count; ++device) {
      list.push_back({{"name", text("cuDeviceGetName", device)},
                      {"pci", text("cuDeviceGetPCIBusId", device)},
                      {"uuid", uuid(device)}});
    }
    return list;
  }

 private:
  template <class Signature>
  Signature* function(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library_, name));
  }

  // Both take (char*, int length, CUdevice).
  std::string text(const char* name, int device) const {
    std::array<char, 256> value{};
    const auto get = function<int(char*, int, int)>(name);
    return get != nullptr && get(value.data(), value.size() - 1, device) == 0 ? value.data() : "";
  }

  std::string uuid(int device) const {
    std::array<unsigned char, 16> bytes{};
    const auto get = function<int(void*, int)>("cuDeviceGetUuid_v2");
    if (get == nullptr || get(bytes.data(), device) != 0) return "";
    std::string id = "GPU-";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
      id += digits;
      if (i == 3 || i == 5 || i == 7 || i == 9) id += '-';
    }
    return id;
  }

  void* library_;
};

bool has_nvidia_driver() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidiactl", ignored) || std::filesystem::exists("/dev/dxg", ignored);
}

}  // namespace

std::vector<Gpu> visible_gpus() {
  std::vector<Gpu> gpus;
  if (!has_nvidia_driver()) return gpus;
  const std::string answer = ask_child("counting the GPUs", {}, [](int pipe) {
    const std::string json = Driver().devices().dump();
    write_all(pipe, json.data(), json.size(), "pipe");
  });
  for (const auto& gpu : nlohmann::json::parse(answer)) {
    gpus.push_back({.name = gpu.at("name"), .pci = gpu.at("pci"), .uuid = gpu.at("uuid")});
  }
  return gpus;
}

}  // namespace ddp::launch
