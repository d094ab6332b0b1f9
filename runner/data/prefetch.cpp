#include "data/prefetch.h"

namespace ddp::data {

Prefetch::Prefetch(std::int64_t threads, std::int64_t begin, std::int64_t end, Fetch fetch)
    : fetch_(std::move(fetch)), end_(end), ahead_(2 * threads), to_fetch_(begin), to_give_(begin) {
  for (std::int64_t t = 0; t < threads; ++t) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

void Prefetch::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto may_fetch = [this] { return to_fetch_ == end_ || to_fetch_ < to_give_ + ahead_; };
    if (!changed_.wait(lock, stop, may_fetch) || to_fetch_ == end_) return;
    const std::int64_t index = to_fetch_++;
    lock.unlock();
    Result result;
    try {
      result.batch = fetch_(index);
    } catch (...) {
      result.failure = std::current_exception();
    }
    lock.lock();
    ready_.emplace(index, std::move(result));
    changed_.notify_all();
  }
}

datasets::Batch Prefetch::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_.contains(to_give_); });
  Result result = std::move(ready_.extract(to_give_++).mapped());
  changed_.notify_all();
  if (result.failure) std::rethrow_exception(result.failure);
  return std::move(result.batch);
}

}  // namespace ddp::data
