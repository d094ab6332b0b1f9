#include "datasets/image/name_list.h"

#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>

namespace ddp::datasets {

NameList::NameList(const std::vector<std::string>& names) {
  std::int64_t size = 0;
  ends_ = at::empty({static_cast<std::int64_t>(names.size())}, at::kLong);
  auto* end = ends_.mutable_data_ptr<std::int64_t>();
  for (const std::string& name : names) *end++ = size += static_cast<std::int64_t>(name.size());
  bytes_ = at::empty({size}, at::kByte);
  auto* to = bytes_.mutable_data_ptr<std::uint8_t>();
  for (const std::string& name : names) {
    std::memcpy(to, name.data(), name.size());
    to += name.size();
  }
}

NameList::NameList(at::Tensor bytes, at::Tensor ends) : bytes_(std::move(bytes)), ends_(std::move(ends)) {}

std::string_view NameList::operator[](std::int64_t i) const {
  const auto* ends = ends_.const_data_ptr<std::int64_t>();
  const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
  return {reinterpret_cast<const char*>(bytes_.const_data_ptr<std::uint8_t>()) + begin,
          static_cast<std::size_t>(ends[i] - begin)};
}

}  // namespace ddp::datasets
