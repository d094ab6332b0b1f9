#include <map>

#include "commands/option_text.h"

namespace ddp::commands {

const std::vector<std::string>& examples_of(const std::string& verb) {
  static const std::map<std::string, std::vector<std::string>> kExamples = {
      {"run",
       {"run experiments/basic.toml", "run experiments/basic.toml --set optimizer.lr=0.1 --name faster",
        "run new.toml --init-from basic"}},
      {"resume", {"resume latest", "resume basic --set epochs=12", "resume basic --from best"}},
      {"fork",
       {"fork basic --set epochs=14 --set optimizer.lr=1e-4 --name slower", "fork basic --from best --set epochs=14"}},
      {"sweep", {"sweep experiments/digits_sweep.toml", "sweep experiments/digits_sweep.toml --jobs 2"}},
      {"slurm", {"slurm experiments/basic.toml --nodes 2 --gpus-per-node 4"}},
      {"plan", {"plan experiments/digits.toml", "plan experiments/digits.toml --preview page.html"}},
      {"validate", {"validate experiments/basic.toml experiments/digits.toml"}},
      {"list", {"list", "list basic --where 'epochs>=3' --sort train_loss --limit 5"}},
      {"show", {"show latest", "show digits_sweep/latest/007"}},
      {"compare", {"compare basic faster digits"}},
      {"diff", {"diff basic faster"}},
      {"report", {"report digits", "report basic faster --output both.html"}},
      {"eval", {"eval people", "eval people --from best --set dataset.path=other.csv"}},
      {"predict", {"predict people strangers.csv -o answers.csv"}},
      {"generate", {"generate shakespeare_char --prompt 'To be' --tokens 100"}},
      {"export", {"export digits weights.safetensors"}},
      {"comm", {"comm --sizes 1KiB..64MiB", "comm --op all_reduce --backend gloo"}},
      {"new", {"new model my_model"}},
      {"models", {"models", "models mlp"}},
      {"datasets", {"datasets", "datasets csv"}},
      {"schema", {"schema", "schema summary"}},
      {"completion", {"completion bash"}},
  };
  static const std::vector<std::string> kNone;
  const auto found = kExamples.find(verb);
  return found == kExamples.end() ? kNone : found->second;
}

}  // namespace ddp::commands
