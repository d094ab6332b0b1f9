#include <cstdint>
#include <vector>

#include <c10/util/Exception.h>

#include "graph/argument_rules.h"

namespace ddp::graph {
namespace {

// Checks the first index of each bag. Kernels sum the indices between two offsets.
template <class Offset>
bool are_offsets(const at::Tensor& offsets, std::int64_t end, bool has_end) {
  const at::Tensor tensor = offsets.contiguous();
  const auto* begin = tensor.const_data_ptr<Offset>();
  const std::int64_t count = tensor.numel();
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (begin[i] < last || begin[i] > end) return false;
    last = begin[i];
  }
  return begin[0] == 0 && (!has_end || last == end);
}

void check_embedding_bag(const CheckedArguments& given) {
  enum Argument : std::size_t { mode, weight, indices, offsets, per_sample_weights, include_last_offset };
  const std::int64_t way = given.number(mode);
  given.require(way >= 0 && way <= 2, mode, "must be 0, 1 or 2: sum, mean or max");
  given.require(given.tensor(weight).dim() == 2, weight, "must have 2 dimensions");
  const at::Tensor& rows = given.tensor(indices);
  given.require(rows.dim() == 1, indices, "must have 1 dimension");
  const at::Tensor& bags = given.tensor(offsets);
  const bool has_end = given.flag(include_last_offset);
  given.require(bags.dim() == 1 && bags.numel() >= (has_end ? 2 : 1), offsets,
                "must have 1 dimension and at least one bag");
  if (given.has(per_sample_weights)) {
    given.require(given.tensor(per_sample_weights).sizes() == rows.sizes(), per_sample_weights,
                  "must have the shape of `indices`");
  }
  // GPU kernels check by themselves, and a check here would wait for the GPU.
  if (!bags.device().is_cpu()) return;
  const bool fits = bags.scalar_type() == at::kLong  ? are_offsets<std::int64_t>(bags, rows.numel(), has_end)
                    : bags.scalar_type() == at::kInt ? are_offsets<std::int32_t>(bags, rows.numel(), has_end)
                                                     : false;
  given.require(fits, offsets, "must begin with 0, must not decrease, and must not lead beyond `indices`");
}

// The kernel reads one length per slice of the directions.
void check_weight_norm(const CheckedArguments& given) {
  enum Argument : std::size_t { v, g, dim };
  const at::Tensor& directions = given.tensor(v);
  const at::Tensor& lengths = given.tensor(g);
  const std::int64_t last = directions.dim() - 1;
  const std::int64_t kept = given.number(dim);
  given.require(last >= 0 && directions.numel() > 0, v, "must have elements");
  // -1 means one length for all.
  given.require(kept >= -1 && kept <= last, dim, "must be a dimension of `v`");
  const std::int64_t wanted = kept < 0 ? 1 : directions.size(kept);
  given.require(lengths.numel() == wanted, g, "must hold one length for each slice of `v`");
  given.require(lengths.scalar_type() == directions.scalar_type(), g, "must be of the type of `v`");
}

void check_contiguous_weight_norm(const CheckedArguments& given) {
  check_weight_norm(given);
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
    given.require(given.tensor(place).is_contiguous(), place, "must be contiguous");
  }
}

// The CPU kernel of attention assumes as many values as keys.
void check_attention(const CheckedArguments& given) {
  enum Argument : std::size_t { query, key, value, attn_mask, enable_gqa };
  const at::Tensor& queries = given.tensor(query);
  const at::Tensor& keys = given.tensor(key);
  const at::Tensor& values = given.tensor(value);
  for (const std::size_t place : {query, key, value}) {
    given.require(given.tensor(place).dim() >= 2, place, "must have 2 dimensions or more");
  }
  given.require(keys.size(-1) == queries.size(-1), key, "must have as many features as `query`");
  given.require(values.size(-2) == keys.size(-2), value, "must be as long as `key`");
  if (given.has(attn_mask)) {
    const at::Tensor& mask = given.tensor(attn_mask);
    given.require(mask.dim() >= 2 && (mask.size(-2) == 1 || mask.size(-2) == queries.size(-2)) &&
                      (mask.size(-1) == 1 || mask.size(-1) == keys.size(-2)),
                  attn_mask, "must have a row for each query and a column for each key");
  }
  if (!given.has(enable_gqa) || !given.flag(enable_gqa)) return;
  for (const std::size_t place : {key, value}) {
    const at::Tensor& heads = given.tensor(place);
    given.require(heads.dim() >= 3 && heads.size(-3) > 0, place, "must have at least one head");
  }
}

// The variance of one value is NaN, and would stay in the running statistics. The error is the one of torch::nn.
void check_batch_norm(const CheckedArguments& given) {
  enum Argument : std::size_t { input, running_mean, training };
  if (!given.flag(training) || !given.has(running_mean)) return;
  const at::Tensor& values = given.tensor(input);
  TORCH_CHECK(values.dim() < 2 || values.numel() != values.size(1),
              "Expected more than 1 value per channel when training, got input size ", values.sizes());
}

// The gradient's kernel reads the first row unconditionally.
void check_distances(const CheckedArguments& given) {
  const at::Tensor& rows = given.tensor(0);
  given.require(rows.dim() == 2 && rows.size(0) > 0, 0, "must have 2 dimensions and at least one row");
}

}  // namespace

const std::vector<ArgumentRule>& layer_rules() {
  static const std::vector<ArgumentRule> rules = {
      {{"embedding_bag"},
       {"mode", "weight", "indices", "offsets", "per_sample_weights", "include_last_offset"},
       check_embedding_bag},
      {{"_weight_norm"}, {"v", "g", "dim"}, check_weight_norm},
      {{"_weight_norm_interface"}, {"v", "g", "dim"}, check_contiguous_weight_norm},
      {{"scaled_dot_product_attention", "_scaled_dot_product_attention_math"},
       {"query", "key", "value", "attn_mask", "enable_gqa"},
       check_attention},
      {{"batch_norm"}, {"input", "running_mean", "training"}, check_batch_norm},
      {{"pdist"}, {"self"}, check_distances},
  };
  return rules;
}

}  // namespace ddp::graph
