#include "rank/transforms_setting.h"

#include <iterator>

#include "base/own_command.h"
#include "config/text/toml.h"

namespace ddp::rank {

std::string transform_item(config::Value transform) {
  for (auto option = transform.begin(); option != transform.end();) {
    option = option->is_null() ? transform.erase(option) : std::next(option);  // TOML cannot write null
  }
  return config::inline_toml(transform);
}

std::string resize_item(const std::string& size) { return "{type=\"Resize\",size=" + size + "}"; }

std::string transforms_setting(const std::string& dataset, const std::vector<std::string>& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ", ") + item;
  return "--set " + shell_word(dataset + ".transforms=[" + list + "]");
}

}  // namespace ddp::rank
