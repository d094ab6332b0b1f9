#include "train/not_finite.h"

#include <sstream>

#include "record/summary.h"

namespace ddp::train {
namespace {

// ", such as --set optimizer.lr=0.01"; empty if the optimizer has no such option.
std::string smaller_lr(const config::Experiment& e) {
  const auto lr = e.optimizer.options.find("lr");
  if (lr == e.optimizer.options.end() || !lr->is_number()) return "";
  std::ostringstream text;
  text << ", such as --set optimizer.lr=" << lr->get<double>() / 10;
  return text.str();
}

}  // namespace

Error loss_not_finite(const config::Experiment& e, std::int64_t step, int rank) {
  return training_error("the loss of step " + std::to_string(step) + record::kLossNotFinite + " (first on rank " +
                            std::to_string(rank) + "); the weights were not changed",
                        "", "give a smaller lr" + smaller_lr(e) + ", or --set on_nan=skip, which skips such steps");
}

}  // namespace ddp::train
