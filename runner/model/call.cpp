#include "model/call.h"

#include <algorithm>
#include <string>
#include <utility>

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>

#include "base/error.h"
#include "config/text/source.h"
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

namespace {

// Runs `work` on these inputs. A c10::IndexError gets a text that names the inputs' values.
template <class Work>
auto explaining_indices(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs, const Work& work) try {
  return work();
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

}  // namespace

NamedTensors one_output(at::Tensor output) {
  NamedTensors outputs;
  outputs.emplace_back("output", std::move(output));
  return outputs;
}

bool is_of_list(const std::string& name) { return name.find_first_not_of("0123456789") == std::string::npos; }

NamedTensors call(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs) {
  return explaining_indices(model, inputs, [&] {
    torch::nn::Module* const module = model.ptr().get();
    if (auto* several = dynamic_cast<GivesOutputs*>(module)) return several->outputs_of(inputs);
    if (dynamic_cast<const TakesInputs*>(module) != nullptr) return one_output(model.forward(inputs));
    return one_output(call_named<1>(model, inputs));
  });
}

std::size_t place_of(const std::string& key, const std::vector<std::string>& names, const std::string& where,
                     const std::string& remedy) {
  if (names.size() == 1 || is_of_list(names.front())) return 0;
  const auto found = std::find(names.begin(), names.end(), key);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  throw usage_error("forward returns a dict without " + config::in_quotes(key) + "; it has: " + config::printable(all),
                    where, remedy);
}

std::size_t main_place(const std::vector<std::string>& names, const std::string& where) {
  return place_of(kLogits, names, where,
                  "name the output for the loss \"logits\", or return it alone; if forward computes the loss, give "
                  "loss = \"model\"");
}

const at::Tensor& main_output(const NamedTensors& outputs) {
  if (outputs.size() == 1) return outputs.front().second;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : outputs) names.push_back(name);
  return outputs[main_place(names)].second;
}

ArgumentOrder order_of(const std::vector<std::string>& given, const std::vector<std::string>& names,
                       std::size_t first) {
  ArgumentOrder order;
  if (given.size() < 2 || names.size() < first + given.size()) return {};
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto found = std::find(given.begin(), given.end(), names[first + i]);
    if (found == given.end()) return {};
    order.push_back(static_cast<std::size_t>(found - given.begin()));
  }
  return std::is_sorted(order.begin(), order.end()) ? ArgumentOrder() : order;
}

NamedTensors::const_iterator main_answer(const NamedTensors& outputs) {
  const auto named = std::find_if(outputs.begin(), outputs.end(), [](const auto& one) { return one.first == kLogits; });
  if (named != outputs.end()) return named;
  return std::find_if(outputs.begin(), outputs.end(), [](const auto& one) { return one.second.dim() > 0; });
}

Prediction predict(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs) {
  auto* several = dynamic_cast<GivesOutputs*>(model.ptr().get());
  const NamedTensors outputs = several == nullptr
                                   ? call(model, inputs)
                                   : explaining_indices(model, inputs, [&] { return several->predicted(inputs); });
  const auto main = main_answer(outputs);
  if (main != outputs.end()) {
    Prediction found{.output = main->second, .is_logits = main->first == kLogits};
    for (auto one = outputs.begin(); one != outputs.end(); ++one) {
      const bool has_rows =
          one->second.dim() > 0 && one->second.dim() <= 2 && one->second.size(0) == found.output.size(0);
      if (one != main && has_rows) found.others.push_back(*one);
    }
    return found;
  }
  throw usage_error("the model gives no output without its targets", "model.predict",
                    "name in [model] predict a graph of the same weights that takes the inputs alone: --predict of "
                    "export_model.py writes it");
}

at::Tensor next_token_scores(torch::nn::AnyModule& model, const at::Tensor& tokens) {
  if (auto* scorer = dynamic_cast<ScoresNextToken*>(model.ptr().get())) return scorer->next_token_scores(tokens);
  const at::Tensor scores = predict(model, {tokens}).output;
  if (scores.dim() == 3 && scores.size(0) == tokens.size(0) && scores.size(1) == tokens.size(1)) {
    return scores.select(1, -1);
  }
  throw usage_error("gives " + c10::str(scores.sizes()) + " for tokens of " + c10::str(tokens.sizes()), "the model",
                    "a text model must return scores of the next token at every position: [n, t, vocab_size]");
}

}  // namespace ddp::model
