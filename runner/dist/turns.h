#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <ATen/ThreadLocalState.h>
#include <ATen/core/Tensor.h>

namespace ddp::dist {

// Threads of which one runs at a time: the logical ranks that a rank computes, if each needs numbers of the others
// before it can go on. The turn goes round in order; a thread gives it away where it meets the others, and at its end.
// Each has a forward and a backward pass of its own: autograd runs a CPU's backward pass in the thread that calls it.
class Turns {
 public:
  // `taken`: a thread that gets the turn calls it with its number, before it goes on. Throws std::system_error if a
  // thread cannot start.
  Turns(int count, std::function<void(int)> taken);

  // Calls work(0), work(1), …, each in its thread and in the caller's modes of LibTorch; returns when all have ended.
  // Rethrows the first exception; there is no further run then.
  void run(const std::function<void(int)>& work);

  // The turns in which the calling thread takes part; null: none.
  static Turns* of_this_thread();
  // Leaves a tensor for the others and gives the turn away. The last thread in the round calls `combine` with the
  // tensors of all: [count, …]. Each gets the result when it has the turn again. Throws if the threads do not meet
  // equally often.
  at::Tensor meet(const at::Tensor& mine, const std::function<at::Tensor(const at::Tensor& of_all)>& combine);

 private:
  static constexpr int kNobody = -1;

  void serve(int me, const std::stop_token& stop);
  void work_in_turn(int me);
  void give_turn(int me);

  const int count_;
  const std::function<void(int)> taken_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  int turn_ = kNobody;
  int running_ = 0;  // threads that have begun their work and not ended it
  int ended_ = 0;
  std::exception_ptr failure_;
  // Of a run, for the thread that has the turn.
  const std::function<void(int)>* work_ = nullptr;
  std::optional<at::ThreadLocalState> modes_;
  std::vector<at::Tensor> left_;  // of the threads that have come to the meeting
  at::Tensor combined_;           // of the last meeting
  std::size_t meetings_ = 0;
  std::vector<std::jthread> threads_;  // last, because the threads use the members above
};

}  // namespace ddp::dist
