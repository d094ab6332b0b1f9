#include "models/model.h"

#include <algorithm>
#include <typeinfo>

#include <c10/util/Exception.h>

#include "models/activations.h"
#include "models/chain.h"
#include "models/layers.h"

namespace ddp::models {

Registry& registry() {
  static Registry instance("model", config::describe<config::SyncBatchNorm>());
  return instance;
}

LayerRegistry& layers() {
  static LayerRegistry instance("layer");
  return instance;
}

bool makes_same_calls(const config::Component& model) {
  const auto promises = [](const config::Value& traits) { return traits.value("same_calls", false); };
  if (!registry().contains(model.name) || !promises(registry().traits(model.name))) return false;
  const auto activation = model.options.find("activation");
  if (activation != model.options.end() && activation->is_string()) {
    return promises(layers().traits(activation_layer(*activation)));
  }
  const auto of_chain = model.options.find("layers");
  if (of_chain == model.options.end() || !of_chain->is_array()) return true;
  return std::all_of(of_chain->begin(), of_chain->end(),
                     [&](const config::Value& layer) { return promises(layers().traits(layer.at("type"))); });
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
