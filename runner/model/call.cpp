#include "model/call.h"

#include <string>
#include <utility>

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>

#include "base/error.h"
#include "model/next_token.h"

namespace ddp::model {
namespace {

template <std::size_t... Index>
at::Tensor call_with(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs,
                     std::index_sequence<Index...>) {
  return model.forward(inputs[Index]...);
}

// Calls a forward with `Count` or more parameters, one for each input.
template <std::size_t Count>
at::Tensor call_named(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs) {
  if (inputs.size() == Count) return call_with(model, inputs, std::make_index_sequence<Count>());
  if constexpr (Count < kMostNamedInputs) return call_named<Count + 1>(model, inputs);
  throw usage_error("the dataset gives " + std::to_string(inputs.size()) +
                        " inputs, and a model with one parameter for each takes " + std::to_string(kMostNamedInputs) +
                        " at most",
                    "model", "derive the model from TakesInputs (runner/model/call.h)");
}

// "values from 0 to 70 and from 3 to 9": the ranges of the inputs that are integers.
std::string ranges_of(const std::vector<at::Tensor>& inputs) {
  std::string text;
  for (const at::Tensor& input : inputs) {
    if (!c10::isIntegralType(input.scalar_type(), /*includeBool=*/false) || input.numel() == 0) continue;
    const auto [least, most] = input.aminmax();
    text += (text.empty() ? "values from " : " and from ") + std::to_string(least.item<std::int64_t>()) + " to " +
            std::to_string(most.item<std::int64_t>());
  }
  return text;
}

// "its embeddings have 65 and 8 rows"; "": the model has no layers of this type.
std::string rows_of_embeddings(const torch::nn::Module& model) {
  std::string text;
  for (const auto& part : model.modules()) {
    const auto* const embedding = part->as<torch::nn::Embedding>();
    if (embedding == nullptr) continue;
    text += (text.empty() ? "its embeddings have " : " and ") + std::to_string(embedding->weight.size(0));
  }
  return text.empty() ? "" : text + " rows";
}

}  // namespace

at::Tensor call(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs) try {
  if (dynamic_cast<const TakesInputs*>(model.ptr().get()) != nullptr) return model.forward(inputs);
  return call_named<1>(model, inputs);
} catch (const c10::IndexError& error) {
  const std::string ranges = ranges_of(inputs);
  if (ranges.empty()) throw;
  // torch's text names neither the input nor its values.
  const std::string rows = rows_of_embeddings(*model.ptr());
  C10_THROW_ERROR(IndexError, "the inputs have " + ranges +
                                  ", and a table of the model, such as an embedding, has no row for some of them: " +
                                  (rows.empty() ? error.msg() : rows) +
                                  "\n  give the table a row for each value, or correct the inputs");
}

at::Tensor next_token_scores(torch::nn::AnyModule& model, const at::Tensor& tokens) {
  if (auto* scorer = dynamic_cast<ScoresNextToken*>(model.ptr().get())) return scorer->next_token_scores(tokens);
  const at::Tensor scores = call(model, {tokens});
  if (scores.dim() == 3 && scores.size(0) == tokens.size(0) && scores.size(1) == tokens.size(1)) {
    return scores.select(1, -1);
  }
  throw usage_error("gives " + c10::str(scores.sizes()) + " for tokens of " + c10::str(tokens.sizes()), "the model",
                    "a text model must return scores of the next token at every position: [n, t, vocab_size]");
}

}  // namespace ddp::model
