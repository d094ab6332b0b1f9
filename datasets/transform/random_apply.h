#pragma once

#include "datasets/transform/transform.h"

namespace ddp::datasets {

// The option of v2's transforms that apply to only some of the images.
struct ApplyOptions {
  double p = 0.5;
  void fields(config::Fields& f) {
    f({.name = "p", .doc = "probability of applying it", .range = config::between(0, 1)}, p);
  }
};

// Draws whether a transform is applied, and reports the result as "apply".
inline bool draw_apply(double p, Draws& draws, const DrawLog& draw_log) {
  const bool apply = draws.uniform() < p;
  draw_log("apply", apply);
  return apply;
}

}  // namespace ddp::datasets
