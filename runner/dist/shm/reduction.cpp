#include "dist/shm/reduction.h"

#include <cstdint>
#include <type_traits>

#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>
#include <c10/util/Half.h>

#pragma GCC push_options
#pragma GCC optimize("O3")

namespace ddp::dist {
namespace {

using c10d::ReduceOp;

template <class T>
constexpr bool kFloating =
    std::is_floating_point_v<T> || std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>;

// Integers wrap around as in at::add, so computes with unsigned integers: in C++ only these may overflow.
template <ReduceOp::RedOpType op, class T>
[[gnu::always_inline]] inline T combined(T a, T b) {
  if constexpr (op == ReduceOp::MIN) {
    return b < a ? b : a;
  } else if constexpr (op == ReduceOp::MAX) {
    return a < b ? b : a;
  } else if constexpr (kFloating<T>) {
    return op == ReduceOp::PRODUCT ? T(a * b) : T(a + b);
  } else if constexpr (op == ReduceOp::BAND) {
    return static_cast<T>(a & b);
  } else if constexpr (op == ReduceOp::BOR) {
    return static_cast<T>(a | b);
  } else if constexpr (op == ReduceOp::BXOR) {
    return static_cast<T>(a ^ b);
  } else {
    const auto left = static_cast<std::uint64_t>(a), right = static_cast<std::uint64_t>(b);
    return static_cast<T>(op == ReduceOp::PRODUCT ? left * right : left + right);
  }
}

template <ReduceOp::RedOpType op, class T>
[[gnu::always_inline]] inline void combine(void* out, const void* a, const void* b, std::size_t count) {
  auto* result = static_cast<T*>(out);
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  // The arrays may be the same but never overlap with an offset, so elements are independent.
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) result[i] = combined<op, T>(left[i], right[i]);
}

template <ReduceOp::RedOpType op, class T>
void combine_plain(void* out, const void* a, const void* b, std::size_t count) {
  combine<op, T>(out, a, b, count);
}

template <class T>
void divide(void* values, std::size_t count, int world_size) {
  using Number =
      std::conditional_t<kFloating<T>, T, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
  const auto world = static_cast<Number>(world_size);
  auto* value = static_cast<T*>(values);
  for (std::size_t i = 0; i < count; ++i) value[i] = static_cast<T>(static_cast<Number>(value[i]) / world);
}

#if defined(__x86_64__)
// Without "fma", because contracted operations would have other bits.
template <ReduceOp::RedOpType op, class T>
[[gnu::target("avx2")]] void combine_avx2(void* out, const void* a, const void* b, std::size_t count) {
  combine<op, T>(out, a, b, count);
}
const bool has_avx2 = __builtin_cpu_supports("avx2");
#else
template <ReduceOp::RedOpType op, class T>
constexpr auto combine_avx2 = combine_plain<op, T>;
constexpr bool has_avx2 = false;
#endif

template <ReduceOp::RedOpType op, class T>
Reduction reduction() {
  return {.element_bytes = sizeof(T), .combine = has_avx2 ? combine_avx2<op, T> : combine_plain<op, T>};
}

template <class T>
Reduction for_type(ReduceOp::RedOpType op) {
  switch (op) {
    case ReduceOp::SUM:
      return reduction<ReduceOp::SUM, T>();
    case ReduceOp::AVG: {
      Reduction mean = reduction<ReduceOp::SUM, T>();
      mean.finish = divide<T>;
      return mean;
    }
    case ReduceOp::PRODUCT:
      return reduction<ReduceOp::PRODUCT, T>();
    case ReduceOp::MIN:
      return reduction<ReduceOp::MIN, T>();
    case ReduceOp::MAX:
      return reduction<ReduceOp::MAX, T>();
    default:
      break;
  }
  if constexpr (!kFloating<T>) {
    if (op == ReduceOp::BAND) return reduction<ReduceOp::BAND, T>();
    if (op == ReduceOp::BOR) return reduction<ReduceOp::BOR, T>();
    if (op == ReduceOp::BXOR) return reduction<ReduceOp::BXOR, T>();
  }
  TORCH_CHECK(false, "shm has no such reduction (", int(op), ") for this element type");
}

// A bool is a byte with the value 0 or 1.
Reduction for_truth_values(ReduceOp::RedOpType op) {
  switch (op) {
    case ReduceOp::SUM:
    case ReduceOp::MAX:
    case ReduceOp::BOR:
      return reduction<ReduceOp::BOR, std::uint8_t>();
    case ReduceOp::PRODUCT:
    case ReduceOp::MIN:
    case ReduceOp::BAND:
      return reduction<ReduceOp::BAND, std::uint8_t>();
    case ReduceOp::BXOR:
      return reduction<ReduceOp::BXOR, std::uint8_t>();
    default:
      TORCH_CHECK(false, "shm has no such reduction (", int(op), ") for bool");
  }
}

}  // namespace

Reduction find_reduction(ReduceOp::RedOpType op, c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return for_type<float>(op);
    case c10::ScalarType::Double:
      return for_type<double>(op);
    case c10::ScalarType::BFloat16:
      return for_type<c10::BFloat16>(op);
    case c10::ScalarType::Half:
      return for_type<c10::Half>(op);
    case c10::ScalarType::Byte:
      return for_type<std::uint8_t>(op);
    case c10::ScalarType::Char:
      return for_type<std::int8_t>(op);
    case c10::ScalarType::Short:
      return for_type<std::int16_t>(op);
    case c10::ScalarType::Int:
      return for_type<std::int32_t>(op);
    case c10::ScalarType::Long:
      return for_type<std::int64_t>(op);
    case c10::ScalarType::UInt16:
      return for_type<std::uint16_t>(op);
    case c10::ScalarType::UInt32:
      return for_type<std::uint32_t>(op);
    case c10::ScalarType::UInt64:
      return for_type<std::uint64_t>(op);
    case c10::ScalarType::Bool:
      return for_truth_values(op);
    default:
      TORCH_CHECK(false, "shm cannot reduce elements of type ", c10::toString(type));
  }
}

}  // namespace ddp::dist

#pragma GCC pop_options
