#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace ddp {

// Keeps the contents that were read last, by their keys. Several threads may ask; one reads, and the others that want
// the same wait for it.
template <class Key, class Content>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  template <class Read>
  std::shared_ptr<const Content> get(const Key& key, const Read& read) {
    std::unique_lock lock(mutex_);
    if (const auto other = being_read_.find(key); other != being_read_.end()) {
      const std::shared_ptr<std::exception_ptr> failed = other->second;
      changed_.wait(lock, [&] { return !being_read_.contains(key); });
      if (*failed) std::rethrow_exception(*failed);
    }
    const auto known = std::find_if(recent_.begin(), recent_.end(), [&](const auto& one) { return one.first == key; });
    if (known != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, known);
      return recent_.front().second;
    }
    const auto failure = being_read_.emplace(key, std::make_shared<std::exception_ptr>()).first->second;
    lock.unlock();
    std::shared_ptr<const Content> content;
    const auto end = [&] {
      lock.lock();
      being_read_.erase(key);
      changed_.notify_all();
    };
    try {
      content = read(key);
    } catch (...) {
      *failure = std::current_exception();  // those that wait need not try again
      end();
      throw;
    }
    end();
    recent_.emplace_front(key, content);
    if (recent_.size() > most_) recent_.pop_back();
    return content;
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::map<Key, std::shared_ptr<std::exception_ptr>> being_read_;
  std::list<std::pair<Key, std::shared_ptr<const Content>>> recent_;  // the last used one first
};

}  // namespace ddp
