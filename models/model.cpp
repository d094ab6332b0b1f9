#include "models/model.h"

#include <typeinfo>

#include <c10/util/Exception.h>

#include "models/chain.h"
#include "models/layers.h"

namespace ddp::models {

Registry& registry() {
  static Registry instance("model");
  return instance;
}

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

namespace {

// "Linear" of torch::nn::LinearImpl.
std::string type_of(const torch::nn::AnyModule& layer) {
  std::string name = layer.ptr()->name();
  name = name.substr(name.rfind(':') + 1);
  return name.ends_with("Impl") ? name.substr(0, name.size() - 4) : name;
}

}  // namespace

at::Tensor ChainImpl::forward(at::Tensor x) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    try {
      x = layers[i].forward(x);
    } catch (const c10::Error& error) {
      // Handlers of other types need the type, and not the layer.
      if (typeid(error) != typeid(c10::Error)) throw;
      C10_THROW_ERROR(Error, "layer " + std::to_string(i) + ", " + type_of(layers[i]) + ", does not accept shape " +
                                 c10::str(x.sizes()) + ": " + error.msg());
    }
  }
  return x;
}

}  // namespace ddp::models
