#include "dist/parallel/unused.h"

namespace ddp::dist {
namespace {

constexpr std::size_t kNamed = 20;

}  // namespace

Error unused_parameters(Fault fault, const std::vector<std::string>& names) {
  std::string text;
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < kNamed; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
    list += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
  }
  if (names.size() > kNamed) {
    text += " and " + std::to_string(names.size() - kNamed) + " more";
    list += ", …";
  }
  return {fault, "the loss does not depend on these parameters, so they have no gradient: " + text, "model",
          "leave them out of the model, exclude them with freeze = [" + list +
              "], or, if other batches use them, give --set distributed.find_unused_parameters=true"};
}

}  // namespace ddp::dist
