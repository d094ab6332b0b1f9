#include <cmath>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "commands/options.h"
#include "launch/process/stop_signals.h"
#include "rank/verbs.h"
#include "report/text/words.h"
#include "runs/asking.h"

namespace ddp::commands {
namespace {

struct GenerateOptions {
  runs::TrainedOptions trained;
  rank::GenerateRequest request;
  bool json = false;
};

void require_text(const runs::Trained& t) {
  if (t.preprocessing.is_object() && t.preprocessing.contains("tokenizer")) return;
  throw usage_error("was not trained on text with a tokenizer", t.directory.path().string(),
                    "generate continues texts: train on the dataset text");
}

// A number too large for its type arrives as the largest one of the type.
const CLI::Range kNotNegative(std::int64_t{0}, INT64_MAX - 1, "NONNEGATIVE");

// Uses one process with the whole model, on the device or devices of the first rank. It needs no network: nothing
// listens.
void use_one_rank(launch::Plan& plan) {
  if (plan.strategy.all_devices) plan.groups.front().resize(1);
  plan.groups.resize(1);
  plan.all_ranks = 1;
  plan.experiment.parallel = "single";
  plan.strategy = {.one_process = true};
}

// Prints a text as it is generated.
class ShownText {
 public:
  void show(const std::string& text) {
    if (!(std::cout << text << std::flush)) throw training_error("stdout is full or closed; some output is lost");
    begun_ = begun_ || !text.empty();
  }
  // Ends the line, for the next output on a terminal.
  void end() {
    if (begun_) show("\n");
  }

 private:
  bool begun_ = false;
};

struct GenerateOutput {
  std::string run, checkpoint;
  std::int64_t step = 0;
  rank::GenerateRequest request = {};
  std::vector<std::int64_t> prompt_tokens = {};
  std::string continuation = {};
  std::vector<std::int64_t> tokens = {};

  void fields(config::Fields& f) {
    f.version();
    runs::list_checkpoint(f, run, checkpoint, step);
    f({"temperature"}, request.temperature);
    f({.name = "top_k", .range = config::at_least(1)}, request.top_k);
    f({"seed"}, request.seed);
    f({"prompt"}, request.prompt);
    f({"prompt_tokens"}, prompt_tokens);
    f({"continuation", "the text behind the prompt; U+FFFD stands for bytes that are not UTF-8"}, continuation);
    f({"tokens", "tokens of the continuation"}, tokens);
  }
};

// `parts`: the prompt, then the pieces of its continuation.
config::Value generated_json(const runs::Trained& t, const rank::GenerateRequest& r,
                             const std::vector<rank::Continuation>& parts) {
  GenerateOutput out{.run = t.directory.path().string(),
                     .checkpoint = t.checkpoint.filename().string(),
                     .step = t.step(),
                     .request = r,
                     .prompt_tokens = parts.front().tokens};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    out.continuation += parts[i].text;
    out.tokens.insert(out.tokens.end(), parts[i].tokens.begin(), parts[i].tokens.end());
  }
  return config::written(out);
}

void generate(const GenerateOptions& o) {
  runs::Trained t = runs::open_trained(o.trained);
  require_text(t);
  use_one_rank(t.plan);
  const launch::HeldData none;
  const runs::AskedRanks ranks(t.plan, *t.library, none,
                               {.resume_from = t.checkpoint, .preprocessing = t.preprocessing});
  if (o.json) {
    std::vector<rank::Continuation> parts;
    ranks.ask(o.request, [&](const auto& part) { parts.push_back(part); });
    return report::print_json(generated_json(t, o.request, parts), std::cout);
  }
  ShownText shown;
  try {
    ranks.ask(o.request, [&](const rank::Continuation& part) { shown.show(part.text); });
  } catch (const Error&) {
    shown.end();
    throw;
  }
  shown.end();
}

void generate_chosen(GenerateOptions& o) {
  o.request.raw = o.trained.raw;
  if (o.request.prompt.empty()) {
    throw usage_error("is empty", "--prompt", "give a character; nanoGPT begins with a line break: $'\\n'");
  }
  if (!std::isfinite(o.request.temperature) || o.request.temperature < 0) {
    throw usage_error("is not a number of at least 0", "--temperature", "0 takes the most likely token");
  }
  // A lost checkpoint is noticed before the first text is printed.
  runs::while_saving(runs::choose_run(o.trained), [&] { generate(o); });
}

void add_generate(CLI::App& verb, GenerateOptions& o) {
  add_trained(verb, o.trained);
  rank::GenerateRequest& r = o.request;
  verb.add_option("--prompt", r.prompt, "text to continue")->required();
  verb.add_option("--tokens", r.tokens, "number of tokens to add")->required()->check(kNotNegative);
  verb.add_option("--temperature", r.temperature, "divisor of the scores; 0: always the most likely token")
      ->capture_default_str();
  verb.add_option("--top-k", r.top_k, "draw only among this many of the most likely tokens")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--seed", r.seed, "seed of the draws")->check(kNotNegative)->capture_default_str();
  verb.add_flag("--json", o.json, "print JSON, once all tokens are generated");
}

const bool generate_registered =
    register_verb(47, "generate", "continue a text with a trained model", add_generate, generate_chosen,
                  {.examples = {"generate shakespeare_char --prompt 'To be' --tokens 100"}, .aliases = {"sample"}}) &&
    register_schema<GenerateOutput>("generate", "generate RUN --json");

}  // namespace
}  // namespace ddp::commands
