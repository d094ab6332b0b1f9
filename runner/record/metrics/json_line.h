#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddp::record {

// Builds one JSON object of metrics.jsonl without a document tree: for a small model, building the tree takes longer
// than a step. Numbers read back exactly as they were.
class JsonLine {
 public:
  explicit JsonLine(std::string_view event);
  JsonLine& add(std::string_view key, std::int64_t value);
  JsonLine& add(std::string_view key, std::string_view value);
  // Adds a value that is already JSON.
  JsonLine& add_json(std::string_view key, std::string_view value);
  // A value that is not finite becomes null, and the line gets "finite":false once.
  JsonLine& add(std::string_view key, double value);
  // Returns the line with its newline.
  std::string finish();

 private:
  void key(std::string_view name);
  std::string text_;
  bool finite_ = true;
};

}  // namespace ddp::record
