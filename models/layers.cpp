#include "models/layers.h"

namespace ddp::models {

LayerRegistry& layers() {
  static LayerRegistry instance("layer");
  return instance;
}

config::Option size_option(const std::string& name, const std::string& doc, double minimum, bool required) {
  return {.name = name,
          .doc = doc,
          .range = config::at_least(minimum),
          .required = required,
          .types = {config::Type::integer, config::Type::list},
          .item = config::Type::integer};
}

}  // namespace ddp::models
