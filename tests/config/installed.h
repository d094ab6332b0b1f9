#pragma once

#include <filesystem>
#include <fstream>

#include "config/components.h"

namespace ddp::config {

// The program's components.
inline const Components& real_components() {
  static const Components components = [] {
    std::ifstream file(std::filesystem::path(DDP_EXP).parent_path() / "components.json");
    return Components::from_json(Value::parse(file));
  }();
  return components;
}

}  // namespace ddp::config
