#include "models/model.h"

namespace ddp::models {

Registry& registry() {
  static Registry instance("model");
  return instance;
}

}  // namespace ddp::models
