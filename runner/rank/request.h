#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.h"
#include "config/option/fields.h"
#include "rank/task.h"

// The only entry point of libddp_rank.so. The parent does not link LibTorch; it loads the library just before it forks
// the ranks. It sends a verb with options and receives the replies as JSON.
namespace ddp::rank {

// Returns the JSON of a value on one line. Bytes that are no UTF-8 become U+FFFD.
inline std::string json_line(const config::Value& value) {
  return value.dump(-1, ' ', false, config::Value::error_handler_t::replace);
}

// Receives one reply. A verb may send no, one or many replies.
using TakeReply = std::function<void(const config::Value&)>;

struct Request {
  std::string verb;                                 // a registered verb: rank/verbs.h
  config::Value options = config::Value::object();  // the verb's request struct, as config::write writes it
  const Task& task;
  TakeReply reply = {};
  // Receives the reason why the request failed. If empty, this process is a rank, and the reason goes to the shared
  // progress, task.progress.
  std::function<void(const Error&)> refuse = {};
  std::filesystem::path plugin = {};  // the library of the experiment's `sources`, to be loaded first; empty: none
};

// Returns a verb's request in the form that crosses into the library.
template <class Asked>
Request request_for(const Task& task, const Asked& asked) {
  return {.verb = Asked::kVerb, .options = config::write(asked), .task = task};
}

// Serves the request in this process. Does not throw. Returns the process's exit code: 0 success, 1 failure. Looked up
// with dlsym.
extern "C" int ddp_rank_serve(const Request* request);

}  // namespace ddp::rank
