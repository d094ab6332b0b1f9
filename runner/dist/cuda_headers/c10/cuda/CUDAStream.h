#pragma once

// Stands in for the header that torch/nn/parallel/data_parallel.h includes: the real one needs CUDA's headers, which a
// machine without GPU libraries lacks. That header only names the type.
namespace at::cuda {
class CUDAStream;
}
