#include <algorithm>
#include <iterator>

#include "config/check/common_names.h"

namespace ddp::config {
namespace {

// A name of other programs for a component of this program.
struct ComponentName {
  const char* kind;
  const char* name;
  const char* here;
};

constexpr ComponentName kComponentNames[] = {
    {"loss", "mseloss", "mse"},
    {"loss", "l2", "mse"},
    {"loss", "mean_squared_error", "mse"},
    {"loss", "mae", "l1"},
    {"loss", "l1loss", "l1"},
    {"loss", "mean_absolute_error", "l1"},
    {"loss", "smoothl1loss", "smooth_l1"},
    {"loss", "huberloss", "huber"},
    {"loss", "nllloss", "nll"},
    {"loss", "ce", "cross_entropy"},
    {"loss", "crossentropy", "cross_entropy"},
    {"loss", "crossentropyloss", "cross_entropy"},
    {"loss", "categorical_crossentropy", "cross_entropy"},
    {"loss", "sparse_categorical_crossentropy", "cross_entropy"},
    {"loss", "log_loss", "cross_entropy"},
    {"loss", "bce", "bce_with_logits"},
    {"loss", "bceloss", "bce_with_logits"},
    {"loss", "bcewithlogitsloss", "bce_with_logits"},
    {"loss", "binary_crossentropy", "bce_with_logits"},
    {"metric", "acc", "accuracy"},
    {"metric", "top", "top5"},
    {"metric", "topk", "top5"},
    {"metric", "top_5", "top5"},
    {"metric", "top_1", "accuracy"},
    {"metric", "top1_accuracy", "accuracy"},
    {"metric", "top5_accuracy", "top5"},
    {"metric", "f1", "f1_macro"},
    {"metric", "f1_score", "f1_macro"},
    {"metric", "precision", "precision_macro"},
    {"metric", "recall", "recall_macro"},
    {"metric", "balanced_accuracy", "recall_macro"},
    {"metric", "auc", "auroc"},
    {"metric", "roc_auc", "auroc"},
    {"metric", "confusion_matrix", "confusion"},
    {"metric", "r2_score", "r2"},
    {"metric", "mean_absolute_error", "mae"},
    {"metric", "mean_squared_error", "mse"},
    {"metric", "root_mean_squared_error", "rmse"},
    {"scheduler", "steplr", "step"},
    {"scheduler", "multisteplr", "multistep"},
    {"scheduler", "exponentiallr", "exponential"},
    {"scheduler", "linearlr", "linear"},
    {"scheduler", "constantlr", "constant"},
    {"scheduler", "polynomiallr", "polynomial"},
    {"scheduler", "onecyclelr", "onecycle"},
    {"scheduler", "one_cycle", "onecycle"},
    {"scheduler", "cosineannealinglr", "cosine"},
    {"scheduler", "cosine_annealing", "cosine"},
    {"scheduler", "cosineannealingwarmrestarts", "cosine_restarts"},
    {"scheduler", "reducelronplateau", "plateau"},
    {"scheduler", "reduce_on_plateau", "plateau"},
    {"scheduler", "none", "constant"},
    {"scheduler", "warmup_cosine", "cosine"},
    {"scheduler", "cosine_with_warmup", "cosine"},
    {"scheduler", "linear_with_warmup", "linear"},
};

// A type of other programs in a list of tables, and the remedy.
struct CommonType {
  const char* list;
  const char* type;
  const char* remedy;
};

constexpr const char* kToFloat =
    "leave it out: images become float32 from 0 to 1 by themselves, before Normalize or at the end";
constexpr const char* kInOrder = "leave it out: the list applies its transforms in order, so write them one by one";
constexpr const char* kMixes =
    "it mixes a batch, so it belongs in the dataset's table: mix = [{ type = \"MixUp\", alpha = 0.2 }]";

constexpr CommonType kCommonTypes[] = {
    {"transforms", "totensor", kToFloat},
    {"transforms", "toimage", kToFloat},
    {"transforms", "todtype", kToFloat},
    {"transforms", "piltotensor", kToFloat},
    {"transforms", "toimagetensor", kToFloat},
    {"transforms", "convertimagedtype", kToFloat},
    {"transforms", "compose", kInOrder},
    {"transforms", "sequential", kInOrder},
    {"transforms", "mixup", kMixes},
    {"transforms", "cutmix", kMixes},
    {"transforms", "randomflip", "did you mean \"RandomHorizontalFlip\" or \"RandomVerticalFlip\"?"},
    {"transforms", "horizontalflip", "did you mean \"RandomHorizontalFlip\"?"},
    {"transforms", "verticalflip", "did you mean \"RandomVerticalFlip\"?"},
};

// A value of other programs that a key of this program does not take.
struct CommonValue {
  const char* path;
  const char* value;
  const char* here;        // the value to give, as JSON; "": the words alone are the remedy
  const char* words = "";  // follow it
};

constexpr const char* kHalf = "; or \"fp16\"";
constexpr const char* kSharded = "models are not sharded: give \"ddp\", \"single\" or \"data_parallel\"";
constexpr const char* kKeepAll = ", which keeps all";
constexpr const char* kLossAlone = ", which measures the loss alone";

constexpr CommonValue kCommonValues[] = {
    {"precision", "mixed", R"("bf16")", kHalf},
    {"precision", "amp", R"("bf16")", kHalf},
    {"precision", "half", R"("bf16")", kHalf},
    {"precision", "true", R"("bf16")", kHalf},
    {"parallel", "fsdp", "", kSharded},
    {"parallel", "deepspeed", "", kSharded},
    {"on_nan", "ignore", R"("skip")"},
    {"on_nan", "raise", R"("stop")"},
    {"on_nan", "error", R"("stop")"},
    {"sweep.goal", "minimize", R"("min")"},
    {"sweep.goal", "maximize", R"("max")"},
    {"sweep.method", "bayes", R"("tpe")"},
    {"sweep.method", "bayesian", R"("tpe")"},
    {"sweep.method", "hyperband", R"("asha")"},
    {"checkpoint.keep_last", "all", "1000000000", kKeepAll},
    {"checkpoint.keep_last", "-1", "1000000000", kKeepAll},
    {"metrics", "none", "[]", kLossAlone},
    {"metrics", "false", "[]", kLossAlone},
    {"metrics", "loss", "", "leave it out: the loss is measured anyway"},
    {"freeze", "true", "", "give patterns of names: freeze = [\"layer1.*\"]"},
    {"freeze", "false", "", "leave it out"},
    {"threads", "auto", "", "leave it out: by default the ranks share the cores"},
    {"loader.workers", "auto", "", "leave it out: by default each rank has two threads"},
    {"batch_size", "auto", "", "give a number: no batch size is searched for"},
    {"log.tensorboard", "runs", "true", ": the run's folder has the events, in tensorboard/"},
    {"loss.weight", "balanced", "",
     "give one number for each class, in the order of dataset.classes: weight = [1.0, 2.5]; without dataset.classes "
     "this is the sorted order"},
    {"dataset.normalise_targets", "standard", "true"},
    {"precision", "float32", R"("fp32")"},
    {"precision", "32", R"("fp32")"},
    {"precision", "16", R"("fp16")"},
    {"precision", "float16", R"("fp16")"},
    {"precision", "16-mixed", R"("fp16")"},
    {"precision", "bfloat16", R"("bf16")"},
    {"precision", "bf16-mixed", R"("bf16")"},
    {"dataset.normalise", "true", R"("standard")", ", or \"minmax\""},
    {"dataset.normalise", "false", R"("none")", ", or leave it out"},
};

}  // namespace

std::string common_component(const std::string& kind, const std::string& name) {
  const std::size_t dot = name.rfind('.');  // "torch.optim.Adam"
  const std::string plain = plain_name(dot == std::string::npos ? name : name.substr(dot + 1));
  const auto known = std::find_if(std::begin(kComponentNames), std::end(kComponentNames),
                                  [&](const auto& one) { return kind == one.kind && plain == one.name; });
  if (known != std::end(kComponentNames)) return known->here;
  return dot == std::string::npos ? "" : plain;
}

std::string remedy_of_type(const std::string& list, const std::string& type) {
  const std::string plain = plain_name(type);
  const auto known = std::find_if(std::begin(kCommonTypes), std::end(kCommonTypes),
                                  [&](const auto& one) { return list == one.list && plain == one.type; });
  return known == std::end(kCommonTypes) ? "" : known->remedy;
}

std::string remedy_of_common_value(const std::string& path, const Node& node) {
  const std::string value = node.text().value_or(node.scalar.is_primitive() ? node.scalar.dump() : "");
  const std::string key = path.substr(0, path.find('['));  // of an item, its list
  const auto known = std::find_if(std::begin(kCommonValues), std::end(kCommonValues),
                                  [&](const auto& one) { return key.ends_with(one.path) && value == one.value; });
  if (known == std::end(kCommonValues)) return "";
  if (!*known->here) return known->words;
  Node meant = node;
  meant.scalar = Value::parse(known->here);
  return "give " + as_setting(key, meant) + known->words;
}

}  // namespace ddp::config
