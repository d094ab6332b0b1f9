#include "commands/comm/comm_table.h"

#include <cstdarg>
#include <cstdio>
#include <iostream>

namespace ddp::commands {
namespace {

using config::Value;

__attribute__((format(printf, 1, 2))) std::string format(const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

// In 10^9 bytes per second.
double algorithm_bandwidth(const rank::CommRow& row) {
  return row.microseconds > 0 ? static_cast<double>(row.bytes) / row.microseconds / 1e3 : 0;
}

double bus_bandwidth(const rank::CommRow& row) { return algorithm_bandwidth(row) * row.bus_factor; }

Value to_json(const rank::CommRow& row, bool check) {
  Value v{{"op", row.op},
          {"bytes", row.bytes},
          {"elements", row.elements},
          {"time_us", row.microseconds},
          {"algbw_gb_per_s", algorithm_bandwidth(row)},
          {"busbw_gb_per_s", bus_bandwidth(row)},
          {"wrong", check ? Value(row.wrong) : Value(nullptr)}};
  if (row.wrong > 0) {
    v["first_wrong"] = {{"rank", row.rank}, {"index", row.index}, {"expected", row.expected}, {"got", row.got}};
  }
  return v;
}

std::string count(std::int64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace

CommTable::CommTable(const launch::Plan& plan, int nodes, std::vector<std::string> devices,
                     const rank::CommRequest& options, bool json)
    : json_(json),
      check_(options.check),
      head_{{"version", 1},
            {"world_size", plan.world_size()},
            {"nodes", nodes},
            {"backend", plan.experiment.distributed.backend},
            {"dtype", options.dtype},
            {"iterations", options.iterations},
            {"warmup", options.warmup},
            {"devices", std::move(devices)}} {
  if (!json_) begin(head_);
}

void CommTable::begin(const Value& head) const {
  std::cout << "# " << count(head.at("world_size"), "rank") << " on " << count(head.at("nodes"), "node") << ", backend "
            << head.at("backend").get<std::string>() << ", " << head.at("dtype").get<std::string>() << ", mean of "
            << count(head.at("iterations"), "call") << " after " << head.at("warmup") << " to warm up\n";
  int rank = 0;
  for (const auto& device : head.at("devices")) {
    std::cout << "# rank " << rank++ << ": " << device.get<std::string>() << "\n";
  }
  std::cout << format("%-10s %12s %12s %12s %10s %10s %8s\n", "# op", "size", "elements", "time", "algbw", "busbw",
                      "wrong")
            << format("%-10s %12s %12s %12s %10s %10s %8s\n", "#", "(B)", "", "(us)", "(GB/s)", "(GB/s)", "")
            << std::flush;
}

void CommTable::add(const rank::CommRow& row) {
  wrong_ += row.wrong;
  if (json_) return rows_.push_back(to_json(row, check_));
  std::cout << format("%-10s %12lld %12lld %12.2f %10.3f %10.3f %8s\n", row.op.c_str(),
                      static_cast<long long>(row.bytes), static_cast<long long>(row.elements), row.microseconds,
                      algorithm_bandwidth(row), bus_bandwidth(row), check_ ? std::to_string(row.wrong).c_str() : "-")
            << std::flush;
}

int CommTable::finish(const std::string& failure) {
  if (json_) {
    Value object = head_;
    object["rows"] = rows_;
    object["wrong"] = check_ ? Value(wrong_) : Value(nullptr);
    object["error"] = failure.empty() ? Value(nullptr) : Value(failure);
    std::cout << object.dump(2, ' ', false, Value::error_handler_t::replace) << std::endl;
  } else if (failure.empty()) {
    std::cout << (!check_       ? "# values were not checked"
                  : wrong_ == 0 ? "# every value of every rank was right"
                                : "# " + count(wrong_, "value") + (wrong_ == 1 ? " was wrong" : " were wrong"))
              << std::endl;
  }
  return wrong_ > 0 ? 1 : 0;
}

std::string wrong_in_words(const rank::CommRow& row) {
  return row.op + " of " + std::to_string(row.bytes) + " B: rank " + std::to_string(row.rank) + " has " +
         format("%.17g", row.got) + " at index " + std::to_string(row.index) + " instead of " +
         format("%.17g", row.expected) + "; " + count(row.wrong, "value") + " of all ranks " +
         (row.wrong == 1 ? "is" : "are") + " wrong";
}

}  // namespace ddp::commands
