#include "commands/comm/comm_words.h"

#include <utility>

namespace ddp::commands {
namespace {

// The longer of two texts with the same beginning comes first.
const std::pair<std::string, std::string> kWordsOfComm[] = {
    {"device_pool = [\"cpu\", \"cpu\"]", "--devices cpu,cpu"},
    {"--set device_pool=auto", "--devices auto"},
    {"device_pool", "--devices"},
    {"backend = \"gloo\" (or \"auto\")", "--backend gloo (or auto)"},
    {"backend = \"auto\"", "--backend auto"},
    {"distributed.timeout", "--timeout"},
};

}  // namespace

std::string in_words_of_comm(std::string text) {
  for (const auto& [of_a_run, of_comm] : kWordsOfComm) {
    for (std::size_t at = 0; (at = text.find(of_a_run, at)) != std::string::npos; at += of_comm.size()) {
      text.replace(at, of_a_run.size(), of_comm);
    }
  }
  return text;
}

Error in_words_of_comm(const Error& error) {
  return {error.fault(), in_words_of_comm(error.summary()), in_words_of_comm(error.where()),
          in_words_of_comm(error.remedy())};
}

}  // namespace ddp::commands
