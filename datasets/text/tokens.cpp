#include "datasets/text/tokens.h"

#include <algorithm>
#include <string>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "base/error.h"

namespace ddp::datasets {
namespace {

// No vocabulary is larger. Larger numbers show that a file was read with the wrong dtype.
constexpr std::int64_t kGreatestToken = (1 << 24) - 1;

// Calls the function with a pointer to the stored numbers of a piece.
template <class Function>
void with_numbers(const at::Tensor& piece, Function function) {
  switch (piece.scalar_type()) {
    case at::kByte:
      return function(piece.const_data_ptr<std::uint8_t>());
    case at::kShort:
      return function(piece.const_data_ptr<std::int16_t>());
    case at::kUInt16:
      return function(piece.const_data_ptr<std::uint16_t>());
    case at::kInt:
      return function(piece.const_data_ptr<std::int32_t>());
    case at::kUInt32:
      return function(piece.const_data_ptr<std::uint32_t>());
    case at::kLong:
      return function(piece.const_data_ptr<std::int64_t>());
    default:
      throw usage_error("tokens cannot be of type " + std::string(c10::toString(piece.scalar_type())));
  }
}

}  // namespace

Tokens::Tokens(std::vector<at::Tensor> pieces) : pieces_(std::move(pieces)) {
  for (const at::Tensor& piece : pieces_) {
    begins_.push_back(size_);
    size_ += piece.size(0);
  }
}

Tokens Tokens::part(std::int64_t begin, std::int64_t count) const {
  std::vector<at::Tensor> pieces;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const std::int64_t first = std::max(begin, begins_[i]);
    const std::int64_t last = std::min(begin + count, begins_[i] + pieces_[i].size(0));
    if (first < last) pieces.push_back(pieces_[i].narrow(0, first - begins_[i], last - first));
  }
  return Tokens(std::move(pieces));
}

void Tokens::copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  auto piece = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin()) - 1;
  while (count > 0) {
    const std::int64_t inside = begin - begins_[piece];
    const std::int64_t some = std::min(count, pieces_[piece].size(0) - inside);
    with_numbers(pieces_[piece], [&](const auto* numbers) { std::copy_n(numbers + inside, some, out); });
    begin += some;
    out += some;
    count -= some;
    ++piece;
  }
}

std::int64_t Tokens::greatest() const {
  std::int64_t greatest = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    with_numbers(pieces_[i], [&](const auto* numbers) {
      std::remove_cvref_t<decltype(*numbers)> least = 0;
      std::remove_cvref_t<decltype(*numbers)> most = 0;
      for (std::int64_t k = 0; k < pieces_[i].size(0); ++k) {
        least = std::min(least, numbers[k]);
        most = std::max(most, numbers[k]);
      }
      if (least < 0 || static_cast<std::int64_t>(most) > kGreatestToken) {
        const auto* first = std::find_if(numbers, numbers + pieces_[i].size(0), [](auto number) {
          return number < 0 || static_cast<std::int64_t>(number) > kGreatestToken;
        });
        throw usage_error("token " + std::to_string(begins_[i] + (first - numbers)) + " is " + std::to_string(*first),
                          "dataset",
                          "tokens are between 0 and 16777215; check dataset.dtype, the type of the file's numbers");
      }
      greatest = std::max(greatest, static_cast<std::int64_t>(most));
    });
  }
  return greatest;
}

at::Tensor Tokens::whole() const {
  if (pieces_.empty()) return at::empty({0}, at::kLong);
  return pieces_.size() == 1 ? pieces_.front() : at::cat(pieces_);
}

}  // namespace ddp::datasets
