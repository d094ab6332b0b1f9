#include "base/cores.h"

#include <sched.h>

namespace ddp {

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const bool known = sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 0;
  return known ? CPU_COUNT(&cores) : 1;
}

}  // namespace ddp
