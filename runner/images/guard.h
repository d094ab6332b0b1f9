#pragma once

#include <array>
#include <csetjmp>
#include <cstdio>

namespace ddp::images {

// Calls C libraries whose error handlers must not return: libjpeg and libpng. Their handler calls `leave`, and the call
// that is under way ends.
class Guard {
 public:
  // Returns false where `call` was left. What is on the stack then vanishes without destructors, so neither `call` nor
  // what it calls may keep an object there that has one.
  template <class Call>
  bool completes(const Call& call) {
    if (setjmp(back_) != 0) return false;
    call();
    return true;
  }
  // Ends the call that is under way. `message`: kept, as far as it fits.
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
