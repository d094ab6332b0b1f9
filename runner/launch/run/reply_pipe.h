#pragma once

#include <functional>
#include <string>

#include "config/value.h"
#include "launch/process/pipe.h"

namespace ddp::launch {

// The way of rank 0's replies to this process: a line of JSON each.
class ReplyPipe {
 public:
  int descriptor() const { return pipe_.from.get(); }
  int end_of_rank() const { return pipe_.to.get(); }
  // In the rank.
  void write(const config::Value& reply) const;
  // In this process, once the ranks are forked: calls `take` for each reply that has come. Returns false when no more
  // can come.
  bool read(const std::function<void(const config::Value&)>& take);

 private:
  Pipe pipe_ = make_pipe(/*reads_wait=*/false);
  std::string text_;
};

}  // namespace ddp::launch
