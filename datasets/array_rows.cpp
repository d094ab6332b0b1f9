#include "datasets/array_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include "base/error.h"

namespace ddp::datasets {
namespace {

using format::Element;

template <std::size_t kSize>
using Bits = std::conditional_t<
    kSize == 1, std::uint8_t,
    std::conditional_t<kSize == 2, std::uint16_t, std::conditional_t<kSize == 4, std::uint32_t, std::uint64_t>>>;

template <class Number>
Number reversed(Number bits) {
  if constexpr (sizeof bits == 2) return __builtin_bswap16(bits);
  if constexpr (sizeof bits == 4) return __builtin_bswap32(bits);
  if constexpr (sizeof bits == 8) return __builtin_bswap64(bits);
  return bits;
}

// Reads a number from an address, which may be unaligned.
template <class From, bool kSwapped>
From load(const char* from) {
  Bits<sizeof(From)> bits;
  std::memcpy(&bits, from, sizeof bits);
  if constexpr (kSwapped) bits = reversed(bits);
  if constexpr (std::is_same_v<From, bool>) return bits != 0;
  if constexpr (std::is_same_v<From, c10::Half>) return c10::Half(bits, c10::Half::from_bits());
  if constexpr (std::is_same_v<From, c10::BFloat16>) return c10::BFloat16(bits, c10::BFloat16::from_bits());
  if constexpr (std::is_arithmetic_v<From> && !std::is_same_v<From, bool>) return std::bit_cast<From>(bits);
}

template <class From, class To, bool kSwapped>
bool convert(const char* from, std::int64_t stride, std::int64_t count, void* to, float scale) {
  auto* out = static_cast<To*>(to);
  std::uint64_t all_bits = 0;
  const auto one = [&](const char* at) {
    const From number = load<From, kSwapped>(at);
    if constexpr (std::is_same_v<To, float>) {
      return static_cast<float>(number) * scale;
    } else {
      if constexpr (std::is_same_v<From, std::uint64_t>) all_bits |= number;
      return static_cast<To>(number);
    }
  };
  if (stride == sizeof(From)) {  // a constant stride: the compiler can vectorize the loop
    for (std::int64_t i = 0; i < count; ++i) out[i] = one(from + i * static_cast<std::int64_t>(sizeof(From)));
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = one(from + i * stride);
  }
  return all_bits <= INT64_MAX;
}

using ConvertNumbers = bool (*)(const char*, std::int64_t, std::int64_t, void*, float);

template <class From>
ConvertNumbers conversion_of(bool swapped, bool to_float) {
  if constexpr (std::is_integral_v<From>) {
    if (!to_float) return swapped ? convert<From, std::int64_t, true> : convert<From, std::int64_t, false>;
  }
  return swapped ? convert<From, float, true> : convert<From, float, false>;
}

ConvertNumbers conversion_of(Element element, bool swapped, bool to_float) {
  switch (element) {
    case Element::boolean:
      return conversion_of<bool>(swapped, to_float);
    case Element::int8:
      return conversion_of<std::int8_t>(swapped, to_float);
    case Element::int16:
      return conversion_of<std::int16_t>(swapped, to_float);
    case Element::int32:
      return conversion_of<std::int32_t>(swapped, to_float);
    case Element::int64:
      return conversion_of<std::int64_t>(swapped, to_float);
    case Element::uint8:
      return conversion_of<std::uint8_t>(swapped, to_float);
    case Element::uint16:
      return conversion_of<std::uint16_t>(swapped, to_float);
    case Element::uint32:
      return conversion_of<std::uint32_t>(swapped, to_float);
    case Element::uint64:
      return conversion_of<std::uint64_t>(swapped, to_float);
    case Element::float16:
      return conversion_of<c10::Half>(swapped, to_float);
    case Element::bfloat16:
      return conversion_of<c10::BFloat16>(swapped, to_float);
    case Element::float32:
      return conversion_of<float>(swapped, to_float);
    case Element::float64:
      break;
  }
  return conversion_of<double>(swapped, to_float);
}

// "[3, 4]"
std::string shape_text(const std::vector<std::int64_t>& shape) { return c10::str(at::IntArrayRef(shape)); }

}  // namespace

ArrayRows::ArrayRows(std::string name, std::vector<format::Array> parts, Conversion conversion)
    : name_(std::move(name)), conversion_(conversion) {
  const format::Array first = parts.at(0);
  const bool floats = format::is_float(first.element);
  type_ = floats || conversion.to_float ? at::kFloat : at::kLong;
  for (format::Array& array : parts) {
    if (array.shape.empty()) {
      throw usage_error("holds one number without rows (its shape is ())", array.name,
                        "give an array whose first extent counts the samples");
    }
    const std::vector<std::int64_t> row(array.shape.begin() + 1, array.shape.end());
    if (parts_.empty()) shape_ = row;
    if (row != shape_ || format::is_float(array.element) != floats) {
      throw usage_error("has rows of shape " + shape_text(row) + (format::is_float(array.element) ? "" : ", integers") +
                            "; the rows of " + first.name + " have shape " + shape_text(shape_) +
                            (floats ? "" : ", integers"),
                        array.name, "files that are read one after the other need rows of the same shape and kind");
    }
    row_size_ = array.row_size();
    if (row_size_ == 0)
      throw usage_error("has rows of shape " + shape_text(row) + ": they hold no numbers", array.name);
    starts_.push_back(starts_.back() + array.shape.front());
    parts_.push_back(part_of(std::move(array)));
  }
  if (rows() == 0) throw usage_error("has no rows", shown());
}

ArrayRows::Part ArrayRows::part_of(format::Array array) const {
  const auto size = static_cast<std::int64_t>(format::size_of(array.element));
  const bool to_float = type_ == at::kFloat;
  Part part{.stride = size, .convert = conversion_of(array.element, array.swapped, to_float)};
  const auto dense = format::dense_strides(array.shape, format::size_of(array.element), /*fortran=*/false);
  bool in_order = true;  // extents of 1 may have any stride
  for (std::size_t i = 1; i < array.shape.size(); ++i) {
    in_order = in_order && (array.shape[i] == 1 || array.strides[i] == dense[i]);
  }
  if (in_order) {
    part.count = row_size_;
  } else {
    part.count = array.shape.back();
    part.stride = array.strides.back();
    part.runs = row_size_ / part.count;
  }
  const bool same = array.element == (to_float ? Element::float32 : Element::int64);
  part.as_it_is = in_order && same && !array.swapped && conversion_.scale == 1;
  part.array = std::move(array);
  return part;
}

bool ArrayRows::copy_row(const Part& part, std::int64_t row, char* to) const {
  const auto& [array, runs, count, stride, as_it_is, convert_run] = part;
  const char* from = array.data + row * array.strides.front();
  const auto size = static_cast<std::int64_t>(c10::elementSize(type_));
  if (as_it_is) {
    std::memcpy(to, from, static_cast<std::size_t>(row_size_ * size));
    return true;
  }
  bool fits = true;
  for (std::int64_t run = 0; run < runs; ++run) {
    // The run's number is its index in the extents between the first and the last, flattened.
    const char* at = from;
    std::int64_t left = run;
    for (std::size_t i = array.shape.size() - 1; i-- > 1;) {
      at += left % array.shape[i] * array.strides[i];
      left /= array.shape[i];
    }
    fits = convert_run(at, stride, count, to + run * count * size, conversion_.scale) && fits;
  }
  return fits;
}

at::Tensor ArrayRows::gather(const at::Tensor& indices) const {
  const std::int64_t samples = indices.size(0);
  std::vector<std::int64_t> shape{samples};
  shape.insert(shape.end(), shape_.begin(), shape_.end());
  at::Tensor rows = at::empty(shape, type_);
  const auto* index = indices.const_data_ptr<std::int64_t>();
  char* to = static_cast<char*>(rows.mutable_data_ptr());
  const auto bytes = row_size_ * static_cast<std::int64_t>(rows.element_size());
  for (std::int64_t i = 0; i < samples; ++i, to += bytes) {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), index[i]);
    const auto number = static_cast<std::size_t>(after - starts_.begin()) - 1;
    const std::int64_t row = index[i] - starts_[number];
    if (!copy_row(parts_[number], row, to)) {
      throw usage_error("row " + std::to_string(row) + " holds a number too large for int64", parts_[number].array.name,
                        "save the array as int64 or as floats");
    }
  }
  return rows;
}

at::Tensor ArrayRows::range(std::int64_t begin, std::int64_t end) const {
  return gather(at::arange(begin, end, at::kLong));
}

std::int64_t ArrayRows::bytes() const {
  std::int64_t bytes = 0;
  for (const Part& part : parts_) {
    bytes += part.array.shape.front() * row_size_ * static_cast<std::int64_t>(format::size_of(part.array.element));
  }
  return bytes;
}

std::string ArrayRows::shown() const {
  const std::string& first = parts_.front().array.name;
  return parts_.size() == 1 ? first : first + " and " + std::to_string(parts_.size() - 1) + " more";
}

}  // namespace ddp::datasets
