#pragma once

#include <array>
#include <csetjmp>
#include <cstdio>

namespace ddp::images {

// Calls C libraries whose error handlers must not return: libjpeg and libpng. Their handler calls `leave`, which ends
// the current call (longjmp).
class Guard {
 public:
  // Returns false if `leave` ended `call`. The stack is then unwound without destructors: neither `call` nor its
  // callees may hold an object with a destructor.
  template <class Call>
  bool completes(const Call& call) {
    if (setjmp(back_) != 0) return false;
    call();
    return true;
  }
  // Ends the current call. Keeps `message`, cut to the size of its buffer.
  [[noreturn]] void leave(const char* message) {
    std::snprintf(message_.data(), message_.size(), "%s", message);
    std::longjmp(back_, 1);
  }
  const char* message() const { return message_.data(); }

 private:
  std::jmp_buf back_;
  std::array<char, 256> message_ = {};
};

}  // namespace ddp::images
