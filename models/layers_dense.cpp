#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "models/layers.h"
#include "models/linear.h"

namespace ddp::models {
namespace {

using config::at_least;
using torch::nn::AnyModule;

struct LinearOptions {
  std::int64_t in_features = 0;
  std::int64_t out_features = 0;
  bool bias = true;
  void fields(config::Fields& f) {
    f({.name = "in_features", .doc = "values of a sample", .range = at_least(1), .required = true}, in_features);
    f({.name = "out_features", .doc = "values of the output", .range = at_least(1), .required = true}, out_features);
    f({.name = "bias", .doc = "add a learnt bias"}, bias);
  }
};

struct EmbeddingOptions {
  std::int64_t num_embeddings = 0;
  std::int64_t embedding_dim = 0;
  std::optional<std::int64_t> padding_idx;
  void fields(config::Fields& f) {
    f({.name = "num_embeddings", .doc = "size of the dictionary", .range = at_least(1), .required = true},
      num_embeddings);
    f({.name = "embedding_dim", .doc = "values of an entry", .range = at_least(1), .required = true}, embedding_dim);
    f({.name = "padding_idx", .doc = "entry that stays zero"}, padding_idx);
  }
};

struct DropoutOptions {
  double p = 0.5;
  void fields(config::Fields& f) {
    f({.name = "p", .doc = "share of values to drop", .range = config::between(0, 1)}, p);
  }
};

struct FlattenOptions {
  std::int64_t start_dim = 1;
  std::int64_t end_dim = -1;
  void fields(config::Fields& f) {
    f({.name = "start_dim", .doc = "first dimension to flatten"}, start_dim);
    f({.name = "end_dim", .doc = "last dimension to flatten"}, end_dim);
  }
};

struct UnflattenOptions {
  std::int64_t dim = 1;
  std::vector<std::int64_t> unflattened_size;
  void fields(config::Fields& f) {
    f({.name = "dim", .doc = "dimension to unflatten", .required = true}, dim);
    f({.name = "unflattened_size", .doc = "sizes of the new dimensions", .range = at_least(-1), .required = true},
      unflattened_size);
  }
};

const bool linear_layer_registered = layers().add<LinearOptions>(
    "Linear", "x A^T + b",
    [](const LinearOptions& o) { return AnyModule(Linear(o.in_features, o.out_features, o.bias)); },
    {{"same_calls", true}});

const bool embedding_layer_registered =
    layers().add<EmbeddingOptions>("Embedding", "a learnt row for each index",
                                   [](const EmbeddingOptions& o) {
                                     auto options = torch::nn::EmbeddingOptions(o.num_embeddings, o.embedding_dim);
                                     if (o.padding_idx) options.padding_idx(*o.padding_idx);
                                     return AnyModule(torch::nn::Embedding(options));
                                   },
                                   {{"same_calls", true}});

const bool dropout_layer_registered = layers().add<DropoutOptions>(
    "Dropout", "drops values at random while training",
    [](const DropoutOptions& o) { return AnyModule(torch::nn::Dropout(o.p)); }, {{"same_calls", true}});

const bool flatten_layer_registered = layers().add<FlattenOptions>(
    "Flatten", "joins several dimensions into one",
    [](const FlattenOptions& o) {
      return AnyModule(torch::nn::Flatten(torch::nn::FlattenOptions().start_dim(o.start_dim).end_dim(o.end_dim)));
    },
    {{"same_calls", true}});

const bool unflatten_layer_registered = layers().add<UnflattenOptions>(
    "Unflatten", "splits one dimension into several",
    [](const UnflattenOptions& o) {
      return AnyModule(torch::nn::Unflatten(torch::nn::UnflattenOptions(o.dim, o.unflattened_size)));
    },
    {{"same_calls", true}});

const bool identity_layer_registered =
    layers().add<NoOptions>("Identity", "returns its input",
                            [](const NoOptions&) { return AnyModule(torch::nn::Identity()); }, {{"same_calls", true}});

}  // namespace
}  // namespace ddp::models
