#pragma once

namespace ddp {

// Makes the process keep freed memory for reuse in the next step. Otherwise the kernel would clear all memory pages of
// large tensors in each step.
void keep_freed_memory();

// Lets threads that start from now on allocate from one heap: what one of them frees, such as a block of a stream, the
// next one takes, and the process does not keep a heap of such blocks for each.
void share_one_heap();

// For work that takes much memory once, in a process that keeps freed memory: returns what was freed before to the
// kernel, and until its end each large block as soon as it is freed. So the memory of the process does not depend on
// where in its heap malloc has found a place.
class ReturnedMemory {
 public:
  ReturnedMemory();
  ~ReturnedMemory();
  ReturnedMemory(const ReturnedMemory&) = delete;
  ReturnedMemory& operator=(const ReturnedMemory&) = delete;
};

}  // namespace ddp
