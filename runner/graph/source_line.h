#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ddp::graph {

// Returns the line of the user's Python that made a node: "model.py, line 12: x = self.fc(x)". Frames of the package
// torch, and of code that it makes, are left out while there are others. Empty: the graph does not keep it.
std::string source_line(const nlohmann::json& node);

}  // namespace ddp::graph
