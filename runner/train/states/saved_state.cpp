#include "train/states/saved_state.h"

namespace ddp::train {

SavedStateRegistry& saved_states() {
  static SavedStateRegistry instance("state");
  return instance;
}

}  // namespace ddp::train
