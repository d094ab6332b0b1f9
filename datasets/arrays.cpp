#include "datasets/arrays.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/where.h>

#include "base/error.h"
#include "config/data_description.h"
#include "datasets/files.h"

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
  if constexpr (std::is_same_v<From, bool>) {
    return bits != 0;
  } else {
    return std::bit_cast<From>(bits);
  }
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
  using ConversionOf = ConvertNumbers (*)(bool swapped, bool to_float);
  static constexpr ConversionOf kByElement[] = {
      // in the order of Element
      conversion_of<bool>,          conversion_of<std::int8_t>,   conversion_of<std::int16_t>,
      conversion_of<std::int32_t>,  conversion_of<std::int64_t>,  conversion_of<std::uint8_t>,
      conversion_of<std::uint16_t>, conversion_of<std::uint32_t>, conversion_of<std::uint64_t>,
      conversion_of<c10::Half>,     conversion_of<c10::BFloat16>, conversion_of<float>,
      conversion_of<double>};
  static_assert(std::size(kByElement) == static_cast<std::size_t>(Element::float64) + 1);
  return kByElement[static_cast<std::size_t>(element)](swapped, to_float);
}

// "[3, 4]"
std::string shape_text(const std::vector<std::int64_t>& shape) { return c10::str(at::IntArrayRef(shape)); }

// Bytes. Below this size, a gather takes less time than the hand-over from a loader thread.
constexpr std::int64_t kSmall = 64 << 20;
// Numbers of a block in a pass over all rows: so few that LibTorch hands none to other threads.
constexpr std::int64_t kNumbersAtOnce = 1 << 15;

void require_same_rows(const ArrayRows& first, const ArrayRows& other) {
  if (first.rows() == other.rows()) return;
  throw usage_error(
      "has " + std::to_string(other.rows()) + " rows, but " + first.shown() + " has " + std::to_string(first.rows()),
      other.shown(), "row i of each array belongs to sample i");
}

// Calls `use` with the rows of a target, some at a time, and the number of the first one.
template <class Use>
void each_block(const ArrayRows& target, const Use& use) {
  const std::int64_t most = std::max<std::int64_t>(kNumbersAtOnce / c10::multiply_integers(target.shape()), 1);
  for (std::int64_t begin = 0; begin < target.rows(); begin += most) {
    use(target.range(begin, std::min(begin + most, target.rows())), begin);
  }
}

// Throws the error of `check` for the first row that it refuses, with the row's place.
void require_rows(const ArrayRows& target, const at::Tensor& rows, std::int64_t begin,
                  const std::function<void(const at::Tensor&)>& check) try {
  check(rows);
} catch (const Error& error) {
  if (rows.size(0) == 1) {
    const std::string row = "row " + std::to_string(begin) + ": " + error.summary();
    // A class without an output: the model is the likelier mistake.
    if (error.where() == "model") throw usage_error(target.shown() + ": " + row, "model", error.remedy());
    throw usage_error(row, target.shown(), error.remedy());
  }
  const std::int64_t half = rows.size(0) / 2;
  require_rows(target, rows.narrow(0, 0, half), begin, check);
  require_rows(target, rows.narrow(0, half, rows.size(0) - half), begin + half, check);
  throw;
}

void refuse_negative(const ArrayRows& target, const at::Tensor& rows, std::int64_t begin, std::int64_t ignored) {
  const at::Tensor bad = rows.lt(0).logical_and(rows.ne(ignored));
  const at::Tensor places = bad.flatten(1).any(1).nonzero();
  if (places.numel() == 0) return;
  const auto row = places.select(0, 0).item<std::int64_t>();
  const auto value = rows[row].masked_select(bad[row]).select(0, 0).item<std::int64_t>();
  throw usage_error("row " + std::to_string(begin + row) + " has class " + std::to_string(value), target.shown(),
                    "classes count from 0; " + std::to_string(ignored) +
                        " marks a target that the loss ignores; to ignore " + std::to_string(value) +
                        " instead, give loss = { name = \"cross_entropy\", ignore_index = " + std::to_string(value) +
                        " }");
}

// Returns the number of classes; 0: no target counts.
std::int64_t count_classes(const ArrayRows& target, std::int64_t ignored, bool ignores_negative) {
  std::int64_t largest = -1;
  each_block(target, [&](const at::Tensor& block, std::int64_t begin) {
    const at::Tensor rows = block.unsqueeze(-1);
    if (!ignores_negative) refuse_negative(target, rows, begin, ignored);
    const at::Tensor counted = rows.masked_select(rows.ne(ignored));
    if (counted.numel() > 0) largest = std::max(largest, counted.max().item<std::int64_t>());
  });
  return largest + 1;
}

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

namespace {

// Throws if a weight is not a finite number from 0, or a row does not hold one number.
void require_weights(const ArrayRows& weights) {
  if (weights.type() != at::kFloat || !weights.shape().empty()) {
    throw usage_error("has rows of shape " + shape_text(weights.shape()) + " and type " + weights.stored_type(),
                      weights.shown(), "give the weights as one floating-point number a sample");
  }
  each_block(weights, [&](const at::Tensor& block, std::int64_t begin) {
    const at::Tensor bad = block.ge(0).logical_and(block.isfinite()).logical_not().nonzero();
    if (bad.numel() == 0) return;
    const auto row = bad[0][0].item<std::int64_t>();
    throw usage_error("row " + std::to_string(begin + row) + " has the weight " + c10::str(block[row].item<float>()),
                      weights.shown(), "a weight is a finite number from 0");
  });
}

}  // namespace

Arrays::Arrays(std::vector<ArrayRows> inputs, std::vector<ArrayRows> targets, std::vector<ArrayRows> weights,
               const Context& context, NamedTensors held)
    : inputs_(std::move(inputs)),
      targets_(std::move(targets)),
      weights_(std::move(weights)),
      ignored_(context.ignored_target),
      ignores_negative_(is_loss_of_graph(context.loss)),
      trains_(context.role == Role::train),
      held_(std::move(held)) {
  for (const ArrayRows& rows : inputs_) require_same_rows(inputs_.front(), rows);
  for (const ArrayRows& rows : targets_) require_same_rows(inputs_.front(), rows);
  for (const ArrayRows& rows : weights_) {
    require_same_rows(inputs_.front(), rows);
    require_weights(rows);
  }
}

Batch Arrays::gather(const at::Tensor& indices, std::int64_t) const {
  Batch batch;
  for (const ArrayRows& rows : inputs_) batch.inputs.emplace_back(rows.name(), rows.gather(indices));
  for (const ArrayRows& rows : targets_) batch.targets.emplace_back(rows.name(), rows.gather(indices));
  for (const ArrayRows& rows : weights_) batch.weights = rows.gather(indices);
  return batch;
}

bool Arrays::in_memory() const {
  std::int64_t bytes = 0;
  for (const ArrayRows& rows : inputs_) bytes += rows.bytes();
  for (const ArrayRows& rows : targets_) bytes += rows.bytes();
  return bytes <= kSmall;
}

at::Tensor Arrays::classes() const {
  if (targets_.empty()) return {};
  const ArrayRows& target = targets_.front();
  const auto& shape = target.shape();
  const bool one_a_row = shape.empty() || shape == std::vector<std::int64_t>{1};
  if (targets_.size() > 1 || target.type() != at::kLong || !one_a_row) return {};
  const at::Tensor all = target.range(0, target.rows()).flatten();
  const at::Tensor ignored = ignores_negative_ ? all.lt(0).logical_or(all.eq(ignored_)) : all.eq(ignored_);
  return at::where(ignored, kNoClass, all);
}

bool Arrays::check_targets(const std::function<void(const at::Tensor&)>& check) const {
  for (const ArrayRows& target : targets_) {
    each_block(target, [&](const at::Tensor& rows, std::int64_t begin) { require_rows(target, rows, begin, check); });
  }
  return true;
}

config::Value Arrays::facts() const {
  config::Value facts{{"rows", size()}};
  if (targets_.empty()) return facts;
  const ArrayRows& target = targets_.front();
  if (targets_.size() > 1 || target.type() != at::kLong) return facts;
  if (const std::int64_t classes = count_classes(target, ignored_, ignores_negative_); classes > 0)
    facts["num_classes"] = classes;
  return facts;
}

std::vector<std::string> Arrays::warnings() const {
  const at::Tensor all = trains_ ? classes() : at::Tensor();
  const at::Tensor counted = all.defined() ? all.masked_select(all.ne(kNoClass)) : all;
  if (!counted.defined() || counted.numel() == 0 || counted.min().item<std::int64_t>() != 1) return {};
  return {targets_.front().shown() +
          ": no sample has class 0, from which classes count, so one output of the model learns nothing; if the "
          "classes count from 1, subtract 1"};
}

std::vector<std::string> ArrayOptions::target_names(Role role) const {
  if (role == Role::prediction || targets.is_null()) return {};
  return one_or_more(targets, "dataset.targets");
}

std::vector<std::string> ArrayOptions::weight_names(Role role) const {
  return role == Role::prediction || weights.empty() ? std::vector<std::string>() : std::vector{weights};
}

config::DatasetDescription Arrays::describe() const {
  std::vector<config::ArrayDescription> arrays;
  const auto add = [&](const ArrayRows& rows, const char* role) {
    config::ArrayDescription array{
        .name = rows.shown(), .role = role, .dtype = rows.stored_type(), .shape = {rows.rows()}};
    for (const std::int64_t extent : rows.shape()) array.shape.push_back(extent);
    arrays.push_back(std::move(array));
  };
  for (const ArrayRows& rows : inputs_) add(rows, "input");
  for (const ArrayRows& rows : targets_) add(rows, "target");
  for (const ArrayRows& rows : weights_) add(rows, "weights");
  return {.rows = size(), .arrays = std::move(arrays)};
}

void ArrayOptions::fields(config::Fields& f, const std::string& are, bool paths) {
  const auto option = [&](const char* name, const char* doc, bool required) {
    return config::Option{.name = name,
                          .doc = doc + are,
                          .required = required,
                          .path = paths,
                          .urls = paths,
                          .types = {config::Type::text, config::Type::list},
                          .item = config::Type::text};
  };
  f(option("inputs", "in the model's order: ", /*required=*/true), inputs);
  f(option("targets", "needed by named losses: ", /*required=*/false), targets);
  f({.name = "weights",
     .doc = "weight of each sample in the loss, a floating-point number" + std::string(paths ? ": an .npy file" : ""),
     .path = paths,
     .urls = paths},
    weights);
  f({.name = "scale", .doc = "factor of the inputs, which become float32"}, scale);
}

void NamedArrayOptions::fields(config::Fields& f) {
  f(path_option("a file, a glob, or a list of these; their rows are concatenated"), path);
  arrays.fields(f, "the name of an array in the file, or a list of them", /*paths=*/false);
}

std::vector<ArrayRows> named_rows(const std::vector<std::string>& names, std::size_t files, Conversion conversion,
                                  const FindArray& find) {
  std::vector<ArrayRows> all;
  for (const std::string& name : names) {
    std::vector<format::Array> parts;
    for (std::size_t file = 0; file < files; ++file) parts.push_back(find(file, name));
    all.emplace_back(unused_name(name, all), std::move(parts), conversion);
  }
  return all;
}

std::string unused_name(const std::string& name, const std::vector<ArrayRows>& taken) {
  const auto is_taken = [&](const std::string& one) {
    return std::any_of(taken.begin(), taken.end(), [&](const ArrayRows& rows) { return rows.name() == one; });
  };
  std::string unused = name;
  for (int number = 2; is_taken(unused); ++number) unused = name + "_" + std::to_string(number);
  return unused;
}

}  // namespace ddp::datasets
