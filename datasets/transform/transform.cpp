#include "datasets/transform/transform.h"

namespace ddp::datasets {

TransformRegistry& transforms() {
  static TransformRegistry all("transform");
  return all;
}

config::Option transforms_option() {
  return {.name = "transforms",
          .doc = "transforms of each image, in order: {type = \"Resize\", size = 256}, …, with torchvision v2's names",
          .types = {config::Type::list},
          .item = config::Type::table,
          .variants = transforms().specs()};
}

}  // namespace ddp::datasets
