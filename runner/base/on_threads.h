#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace ddp {

// Calls work(i) once for each 0 <= i < count, on up to `threads` threads, this one among them. Ends when all calls have
// ended; rethrows the first exception of one. at::parallel_for runs on one thread in code that is built without OpenMP.
template <class Work>
void on_threads(std::int64_t count, int threads, const Work& work) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex of_failure;
  const auto take = [&] {
    try {
      for (std::int64_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::scoped_lock alone(of_failure);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::int64_t i = 1; i < std::min<std::int64_t>(count, threads); ++i) others.emplace_back(take);
    } catch (const std::system_error&) {  // a limit on threads: those that have started do the work
    }
    take();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ddp
