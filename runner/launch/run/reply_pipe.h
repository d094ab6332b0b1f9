#pragma once

#include <functional>
#include <string>

#include "config/value.h"
#include "launch/process/pipe.h"

namespace ddp::launch {

// The pipe of rank 0's replies to this process: one line of JSON each.
class ReplyPipe {
 public:
  int descriptor() const { return pipe_.from.get(); }
  int end_of_rank() const { return pipe_.to.get(); }
  // Called in the rank.
  void write(const config::Value& reply) const;
  // Called in this process after the ranks are forked: calls `take` for each reply received. Returns false at the end.
  bool read(const std::function<void(const config::Value&)>& take);

 private:
  Pipe pipe_ = make_pipe(/*reads_wait=*/false);
  std::string text_;
};

}  // namespace ddp::launch
