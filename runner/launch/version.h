#pragma once

namespace ddp::launch {

inline constexpr const char* kVersion = "0.1.0";
inline constexpr const char* kLibTorchVersion = "2.11.0";

}  // namespace ddp::launch
