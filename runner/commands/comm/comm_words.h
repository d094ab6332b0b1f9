#pragma once

#include <string>

#include "base/error.h"

namespace ddp::commands {

// comm plans its ranks as a run does, and errors of planning and waiting name keys of an experiment file. These return
// them in the words of comm's options: "--devices cpu,cpu" in place of "device_pool = ["cpu", "cpu"]".
std::string in_words_of_comm(std::string text);
Error in_words_of_comm(const Error& error);

}  // namespace ddp::commands
