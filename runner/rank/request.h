#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.h"
#include "config/value.h"
#include "rank/task.h"

// The one entry of libddp_rank.so. The parent knows no torch and loads the library just before it forks the ranks; it
// says what it wants as a verb with options and hears the replies as JSON.
namespace ddp::rank {

// Takes one reply. A verb may give none, one, or many.
using TakeReply = std::function<void(const config::Value&)>;

struct Request {
  std::string verb;                                 // of those that registered themselves: rank/verb.h
  config::Value options = config::Value::object();  // the verb's request struct, as config::write writes it
  const Task& task;
  TakeReply reply = {};
  // Takes the reason why the request cannot be served. Not given: this process is a rank, and the reason goes to its
  // page, task.progress.
  std::function<void(const Error&)> refuse = {};
  std::filesystem::path plugin = {};  // the library of the experiment's `sources`, to be loaded first; empty: none
};

// Serves the request in this process, and throws nothing. Returns the process's exit code: 0 done, 1 failed. Found by
// dlsym.
extern "C" int ddp_rank_serve(const Request* request);

}  // namespace ddp::rank
