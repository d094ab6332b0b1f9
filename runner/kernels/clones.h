#pragma once

// Compiles a function for several sets of vector instructions; the program's start chooses one. The floor is compiled
// without contraction of products and sums, so all of them give the same bits.
#define DDP_CLONES __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
