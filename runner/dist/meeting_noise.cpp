#include "dist/meeting_noise.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <streambuf>
#include <string_view>

namespace ddp::dist {
namespace {

// Parts of the messages, from torch/csrc/distributed/c10d/socket.cpp, TCPStore.cpp and Utils.hpp.
constexpr std::array<std::string_view, 8> kNoise{"[c10d] The hostname of the client socket cannot be retrieved",
                                                 "[c10d] The client socket has timed out",
                                                 "[c10d] TCP client failed to connect/validate",
                                                 "[c10d] waitForInput: ",
                                                 "[c10d] recvValue failed on ",
                                                 "[c10d] recvValueWithTimeout failed on ",
                                                 "[c10d] recvVector failed on ",
                                                 "[c10d] sendBytes failed on "};

bool is_noise(std::string_view message) {
  const std::string_view line = message.substr(0, message.find('\n'));
  return std::any_of(kNoise.begin(), kNoise.end(),
                     [line](std::string_view part) { return line.find(part) != std::string_view::npos; });
}

// Passes on to std::cerr's buffer what is no noise. LibTorch writes each message to std::cerr as one text.
class WithoutNoise : public std::streambuf {
 public:
  explicit WithoutNoise(std::streambuf* out) : out_(out) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    return is_noise({text, static_cast<std::size_t>(size)}) ? size : out_->sputn(text, size);
  }
  int_type overflow(int_type c) override {
    return traits_type::eq_int_type(c, traits_type::eof()) ? traits_type::not_eof(c)
                                                           : out_->sputc(traits_type::to_char_type(c));
  }
  int sync() override { return out_->pubsync(); }

 private:
  std::streambuf* const out_;
};

}  // namespace

void leave_out_meeting_noise() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) return;
  // Never destroyed: LibTorch's threads may log until the process ends.
  static auto* const filter = new WithoutNoise(std::cerr.rdbuf());
  std::cerr.rdbuf(filter);
}

}  // namespace ddp::dist
