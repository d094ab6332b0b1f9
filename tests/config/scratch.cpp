#include "scratch.h"

#include <fstream>

#include "config/experiment.h"

namespace ddp::config {
namespace {

struct None {
  void fields(Fields&) {}
};

struct Linear {
  std::int64_t in_features = 20;
  std::int64_t out_features = 1;
  void fields(Fields& f) {
    f({.name = "in_features", .doc = "values of a sample", .range = at_least(1)}, in_features);
    f({.name = "out_features", .doc = "values of its prediction", .range = at_least(1)}, out_features);
  }
};

struct Mlp {
  std::int64_t in_features = 0;
  std::vector<std::int64_t> hidden;
  std::string activation = "relu";
  double dropout = 0;
  void fields(Fields& f) {
    f({.name = "in_features", .doc = "values of a sample", .range = at_least(1), .required = true}, in_features);
    f({.name = "hidden", .range = at_least(1)}, hidden);
    f({.name = "activation", .choices = {"relu", "tanh"}}, activation);
    f({.name = "dropout", .range = from_below(0, 1)}, dropout);
  }
};

struct Conv {
  Value kernel_size;
  bool bias = true;
  void fields(Fields& f) {
    f({.name = "kernel_size",
       .range = at_least(1),
       .required = true,
       .length = 2,
       .types = {Type::integer, Type::list},
       .item = Type::integer},
      kernel_size);
    f({.name = "bias"}, bias);
  }
};

struct Sequential {
  Value layers;
  void fields(Fields& f) {
    f({.name = "layers",
       .required = true,
       .types = {Type::list},
       .variants = {{.name = "Linear", .options = describe<Mlp>()},
                    {.name = "Conv2d", .options = describe<Conv>()},
                    {.name = "ReLU", .options = {}}}},
      layers);
  }
};

struct Pairs {
  std::int64_t size = 2048;
  void fields(Fields& f) { f({.name = "size", .range = at_least(1)}, size); }
};

struct Digits {
  std::string path;
  void fields(Fields& f) { f({.name = "path", .path = true}, path); }
};

struct Sgd {
  double lr = 1e-3;
  double momentum = 0;
  void fields(Fields& f) {
    f({.name = "lr", .range = at_least(0)}, lr);
    f({.name = "momentum", .range = at_least(0)}, momentum);
  }
};

struct Adam : LayerDecay {
  double lr = 1e-3;
  std::vector<double> betas = {0.9, 0.999};
  void fields(Fields& f) {
    f({.name = "lr", .range = at_least(0)}, lr);
    f({.name = "betas", .range = from_below(0, 1), .length = 2}, betas);
    LayerDecay::fields(f);
  }
};

Components make_components() {
  Components components;
  components.add("model", {.name = "linear", .doc = "one Linear", .options = describe<Linear>()});
  components.add("model", {.name = "mlp", .doc = "several", .options = describe<Mlp>()});
  components.add("model", {.name = "sequential", .doc = "any layers", .options = describe<Sequential>()});
  components.add("dataset", {.name = "random_pairs", .options = describe<Pairs>(), .traits = {{"loss", "mse"}}});
  components.add("dataset", {.name = "random_batch", .options = {}, .traits = {{"loss", "mse"}, {"needs", "steps"}}});
  components.add("dataset", {.name = "digits", .options = describe<Digits>(), .traits = {{"loss", "cross_entropy"}}});
  components.add("loss", {.name = "mse", .options = {}});
  components.add("loss", {.name = "cross_entropy", .options = {}});
  components.add("metric", {.name = "accuracy", .options = {}, .traits = {{"direction", "greater"}}});
  components.add("metric", {.name = "error_rate", .options = {}, .traits = {{"direction", "less"}}});
  components.add("metric", {.name = "auroc", .options = {}, .traits = {{"direction", "greater"}}});
  components.add("metric", {.name = "topN", .options = {}, .traits = {{"direction", "greater"}, {"number", "n"}}});
  components.add("parallel", {.name = "ddp", .options = {}, .traits = {{"ranks", "many"}}});
  components.add("parallel", {.name = "data_parallel", .options = {}, .traits = {{"devices", "all"}}});
  components.add("parallel", {.name = "single", .options = {}});
  for (const char* backend : {"gloo", "nccl", "shm"}) components.add("backend", {.name = backend, .options = {}});
  components.add("optimizer", {.name = "sgd", .options = describe<Sgd>()});
  components.add("optimizer", {.name = "adam", .options = describe<Adam>()});
  components.add("scheduler", {.name = "constant", .options = describe<None>()});
  components.add("scheduler", {.name = "cosine", .options = describe<None>()});
  return components;
}

}  // namespace

const Components& sample_components() {
  static const Components components = make_components();
  return components;
}

Loaded load_text(const std::string& text, const std::vector<std::string>& sets) {
  const Scratch scratch;
  scratch.write("x.toml", text);
  return load("x.toml", sets, sample_components());
}

std::string mistakes_of(const std::filesystem::path& file, const std::vector<std::string>& sets) {
  try {
    load(file, sets, sample_components());
    return "";
  } catch (const Error& error) {
    return error.exit_code() == 2 ? error.what() : "the exit code is not 2";
  }
}

std::string mistakes(const std::string& text, const std::vector<std::string>& sets) {
  const Scratch scratch;
  scratch.write("x.toml", text);
  return mistakes_of("x.toml", sets);
}

}  // namespace ddp::config
