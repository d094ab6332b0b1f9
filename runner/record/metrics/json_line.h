#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddp::record {

// Builds one object of metrics.jsonl without a document tree: a step of a small model takes less time than
// one would. Numbers are printed so that they read back the same.
class JsonLine {
 public:
  explicit JsonLine(std::string_view event);
  JsonLine& add(std::string_view key, std::int64_t value);
  JsonLine& add(std::string_view key, std::string_view value);
  // A value that is JSON already.
  JsonLine& add_json(std::string_view key, std::string_view value);
  // Not finite: null, and the line says "finite":false once.
  JsonLine& add(std::string_view key, double value);
  // The line with its newline.
  std::string finish();

 private:
  void key(std::string_view name);
  std::string text_;
  bool finite_ = true;
};

}  // namespace ddp::record
