#include "rank/verbs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "model/next_token.h"
#include "model/numerics.h"
#include "rank/process.h"
#include "tokenize/tokenizer.h"
#include "tokenize/utf8.h"

namespace ddp::rank {
namespace {

constexpr const char* kBlockSize = "block_size";
constexpr std::int64_t kTokensBefore = 8;

// The maximum context length in tokens: block_size of the model, or else of the dataset it was trained on.
std::int64_t context_size(const config::Experiment& e) {
  const auto& of_model = e.model.options;
  const bool told = of_model.contains(kBlockSize) && of_model.at(kBlockSize).is_number_integer();
  return (told ? of_model : e.dataset.options).at(kBlockSize).get<std::int64_t>();
}

void require_finite(const at::Tensor& scores, const char* what, const std::string& where, const char* remedy) {
  if (!std::isfinite(scores.max().item<double>())) throw usage_error(what, where, remedy);
}

// Draws the next token as generate() of nanoGPT's model.py does. scores: [1, vocab_size].
std::int64_t draw_token(const at::Tensor& scores, const GenerateRequest& r) {
  if (r.temperature == 0) return scores.argmax(1).item<std::int64_t>();
  at::Tensor scaled = scores / r.temperature;
  require_finite(scaled, "is too small: the scores overflow", "--temperature", "0 takes the most likely token");
  const std::int64_t k = std::min(r.top_k, scaled.size(1));
  const at::Tensor least = std::get<0>(scaled.topk(k)).narrow(1, k - 1, 1);
  scaled.masked_fill_(scaled < least, -std::numeric_limits<double>::infinity());
  return at::multinomial(at::softmax(scaled, 1), 1).item<std::int64_t>();
}

class Generator {
 public:
  Generator(const Task& t, bool raw)
      : task_(t),
        tokenizer_(tokenize::tokenizer_from_json(t.preprocessing.at("tokenizer")).tokenizer),
        model_(build_parallel(t, nullptr, &saved_, raw)) {
    model_->module().ptr()->eval();
  }

  void run(const GenerateRequest& r, const TakeReply& reply) {
    const tokenize::Text prompt{.bytes = r.prompt, .sources = {{.name = "--prompt"}}};
    ids_ = tokenize::encode_all(*tokenizer_, prompt);
    if (ids_.empty()) throw usage_error("has no token", "--prompt", "give at least one character");
    // A model that does not take so many tokens fails before anything is printed.
    if (r.tokens > 0) scores();
    give(reply);
    // Building the model has advanced the generator.
    at::manual_seed(static_cast<std::uint64_t>(r.seed));
    // As in sample.py, autocast covers the whole generation, including the draws.
    const model::Autocast casts(task_.experiment->precision, first_device(task_));
    for (std::int64_t i = 0; i < r.tokens; ++i) {
      ids_.push_back(draw_token(scores(), r));
      give(reply);
      task_.progress->rank(task_.rank).note_activity();
    }
    reply(config::write(Continuation{.text = stream_.end(), .tokens = {}}));
  }

 private:
  at::Tensor scores() {
    const auto count = std::min<std::int64_t>(context_size_, static_cast<std::int64_t>(ids_.size()));
    const at::Tensor context =
        at::from_blob(ids_.data() + (static_cast<std::int64_t>(ids_.size()) - count), {1, count}, at::kLong);
    // The clone is aligned like Python's tensor.
    const at::Tensor scores = model::next_token_scores(model_->module(), context.clone().to(first_device(task_)));
    require_finite(scores, "the weights give scores that are not finite", task_.resume_from.string(),
                   "use another checkpoint: --from");
    return scores;
  }

  // Gives the ids that are new.
  void give(const TakeReply& reply) {
    const std::vector<std::int64_t> ids(ids_.begin() + given_, ids_.end());
    for (const std::int64_t id : ids) {
      if (id < tokenizer_->vocab_size()) continue;
      throw usage_error("the model drew token " + std::to_string(id) + ", and the tokenizer has " +
                            std::to_string(tokenizer_->vocab_size()) + " tokens",
                        "model", "train longer, or a model with that many tokens");
    }
    // The text of a token may depend on the tokens before it: some tokenizers leave out a text's first blank.
    const std::span<const std::int64_t> some =
        std::span(ids_).subspan(std::max<std::int64_t>(0, given_ - kTokensBefore));
    const std::string old = tokenizer_->decode(some.first(some.size() - ids.size()));
    const std::string all = tokenizer_->decode(some);
    given_ = static_cast<std::int64_t>(ids_.size());
    reply(config::write(Continuation{
        .text = stream_.add(std::string_view(all).substr(std::min(old.size(), all.size()))), .tokens = ids}));
  }

  const Task& task_;
  const std::shared_ptr<const tokenize::Tokenizer> tokenizer_;
  const checkpoint::Checkpoint saved_ = checkpoint::load(task_.resume_from);
  const std::unique_ptr<dist::Parallel> model_;
  const std::int64_t context_size_ = context_size(*task_.experiment);
  tokenize::Utf8Stream stream_;
  std::vector<std::int64_t> ids_;
  std::int64_t given_ = 0;  // how many of them the caller has
};

void generate(const GenerateRequest& request, const Task& t, const TakeReply& reply) {
  prepare_process(t);
  const at::NoGradGuard no_grad;
  Generator(t, request.raw).run(request, reply);
}

const bool generate_registered =
    verbs().add<GenerateRequest>(GenerateRequest::kVerb, "continues a text with the weights of a checkpoint", generate);

}  // namespace
}  // namespace ddp::rank
