#include "models/chain.h"
#include "models/layers.h"
#include "models/model.h"

namespace ddp::models {
namespace {

struct SequentialOptions {
  config::Value layers = config::Value::array();
  void fields(config::Fields& f) {
    f({.name = "layers",
       .doc = "layers, in order: {type = \"Linear\", in_features = 64, out_features = 10}, …",
       .required = true,
       .types = {config::Type::list},
       .item = config::Type::table,
       .variants = models::layers().specs()},
      layers);
  }
};

torch::nn::AnyModule make_sequential(const SequentialOptions& o, const Placement&) {
  if (o.layers.empty()) throw usage_error("sequential needs at least one layer", "model.layers");
  auto chain = std::make_shared<ChainImpl>();
  for (std::size_t i = 0; i < o.layers.size(); ++i) {
    const std::string type = o.layers[i].at("type");
    try {
      chain->append(layers().build(type, o.layers[i]));
    } catch (const c10::Error& error) {
      throw usage_error(error.msg(), "model.layers[" + std::to_string(i) + "] " + type);
    } catch (const std::exception& error) {
      throw usage_error(error.what(), "model.layers[" + std::to_string(i) + "] " + type);
    }
  }
  return torch::nn::AnyModule(chain);
}

const bool sequential_registered = registry().add<SequentialOptions>(
    "sequential", "torch.nn.Sequential of PyTorch layers that the experiment file lists", make_sequential,
    {{"same_calls", true}});

}  // namespace
}  // namespace ddp::models
