#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "config/components.h"
#include "config/option/fields.h"
#include "rank/request.h"

namespace ddp::launch {

// libddp_rank.so, which needs LibTorch. It is loaded only if something is to be trained, once, before the forks.
class RankLibrary {
 public:
  // `gpus`: also loads libddp_nccl.so, which brings libtorch_cuda. Throws ddp::Error (usage) if a library cannot be
  // loaded. Loading takes about 0.2 s for each: LibTorch's static initialisers.
  // `plugin`: from the experiment's `sources`. Only processes that serve a request load it: it is the user's code, and
  // may crash or start threads.
  explicit RankLibrary(bool gpus, const config::Plugin& plugin = {});

  // Serves a request as one rank, in a forked child or in a process that a launcher started. Returns the process's exit
  // code; a failure is in the task's shared progress.
  template <class Request>
  int serve(const rank::Task& task, const Request& request, const rank::TakeReply& reply = {}) const {
    rank::Request asked = rank::request_for(task, request);
    asked.reply = reply;
    return call(std::move(asked));
  }

  // Makes a throw-away child serve a request that has one reply. `act` says what for ("trying model and data"). The
  // descriptors `kept` stay open in the child. Throws ddp::Error: (usage) if the request is refused, (training) if the
  // child fails.
  template <class Request>
  typename Request::Reply ask(const std::string& act, const rank::Task& task, const Request& request,
                              std::vector<int> kept = {}) const {
    return config::read<typename Request::Reply>(ask(act, rank::request_for(task, request), std::move(kept)));
  }

  // The same for a request in the form that crosses into the library.
  config::Value ask(const std::string& act, const rank::Request& request, std::vector<int> kept) const;

  // The two halves of `ask`, for a child that loads the library itself. answer() serves a request in this process and
  // writes the answer into a pipe. reply_in() returns the answer's reply, or throws the refusal.
  void answer(rank::Request request, int pipe) const;
  static config::Value reply_in(const std::string& answer);

  // Writes such an answer for a child that serves no request of the library: what `ask` returns, or why it throws.
  static void answer_with(const std::function<config::Value()>& ask, int pipe);

 private:
  int call(rank::Request request) const;

  decltype(&rank::ddp_rank_serve) entry_;
  std::filesystem::path plugin_;  // its library; empty: none
};

}  // namespace ddp::launch
