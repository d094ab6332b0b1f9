#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ddp::graph {

// Returns the line of the user's Python code that made a node: "model.py, line 12: x = self.fc(x)". Skips frames of the
// package torch and of code that torch generates, unless all frames are such. Empty if the graph does not record the
// line.
std::string source_line(const nlohmann::json& node);

}  // namespace ddp::graph
