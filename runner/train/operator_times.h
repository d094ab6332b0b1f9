#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <ATen/record_function.h>
#include <c10/core/Device.h>

namespace ddp::train {

// Until stop(), adds up the calls of ATen's operators that this thread makes, and its backward. An operator that
// another one calls belongs to the outer one. There is one such object at a time.
class OperatorTimes {
 public:
  struct Row {
    std::int64_t calls = 0;
    double seconds = 0;
    // Of floating-point numbers, counted from the shapes of products, convolutions and attention, as
    // torch/utils/flop_counter.py counts them; 0: it has none of these.
    double operations = 0;
  };

  OperatorTimes();
  ~OperatorTimes();
  OperatorTimes(const OperatorTimes&) = delete;
  OperatorTimes& operator=(const OperatorTimes&) = delete;

  void stop();
  // Counts from now on, or leaves out what follows.
  void count(bool on) { counts_ = on; }
  // By the operator's name without a namespace.
  const std::map<std::string, Row>& rows() const { return rows_; }

 private:
  struct Call;
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function);
  static void end(const at::RecordFunction& function, at::ObserverContext* context);
  void add(const std::string& name, double seconds, double operations);

  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
  bool counts_ = true;
  std::mutex mutex_;  // a GPU's backward runs in a thread of its own
  std::map<std::string, Row> rows_;
};

// Returns the operations per second of a product of large matrices: the most that a device reaches.
double peak_rate(c10::Device device, at::ScalarType type);

}  // namespace ddp::train
