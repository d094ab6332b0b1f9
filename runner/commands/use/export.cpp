#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "commands/use/trained.h"
#include "commands/use/unnamed_output.h"
#include "launch/plugin/experiment.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kCopiedAtOnce = 8u << 20;

struct ExportOptions {
  TrainedOptions trained;
  std::string output;
};

void require_written_format(const std::string& output) {
  const std::string ending = fs::path(output).extension().string();
  if (ending == ".safetensors") return;
  if (ending == ".pt2") {
    throw usage_error("a .pt2 file holds a model that torch.export wrote, and the model of this run is none", output,
                      "give a name that ends in .safetensors");
  }
  throw usage_error("has an ending that export does not write", output, "give a name that ends in .safetensors");
}

void copy_into(int descriptor, const record::InputFile& in, const std::string& name) {
  std::vector<char> piece(std::min(kCopiedAtOnce, in.size()));
  for (std::uint64_t done = 0; done < in.size(); done += piece.size()) {
    piece.resize(std::min(kCopiedAtOnce, in.size() - done));
    in.read(done, piece.data(), piece.size());
    write_all(descriptor, piece.data(), piece.size(), name);
  }
}

// A checkpoint holds the weights under the names of Python's state_dict(), whole, whatever ranks trained them
// (train/states/model.cpp): the file itself is what Python reads.
int export_weights(const ExportOptions& o) {
  require_written_format(o.output);
  const record::RunDirectory directory = find_run(o.trained);
  const fs::path checkpoint = checkpoint_of(
      directory, launch::load_experiment(directory.config()).experiment, o.trained.from);
  const fs::path weights = checkpoint / "model.safetensors";
  std::error_code none;
  if (fs::equivalent(weights, o.output, none)) {
    throw usage_error("is the checkpoint's own file", o.output, "give another name");
  }
  UnnamedOutput output(o.output);
  // A run that trains on removes old checkpoints, perhaps this one just now: the open file stays.
  const record::InputFile in(weights);
  if (const std::string damage = record::damage_of(checkpoint); !damage.empty()) {
    throw usage_error(damage, checkpoint.string(), "use another checkpoint: --from");
  }
  copy_into(output.descriptor(), in, o.output);
  output.put_in_place();
  return 0;
}

void add_export(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<ExportOptions>();
  CLI::App* verb = app.add_subcommand("export", "write the weights of a trained model to a file that Python reads");
  add_trained_run(*verb, o->trained);
  verb->add_option("OUT", o->output, "a .safetensors file")->required();
  verb->callback([o, &exit_code] { exit_code = export_weights(*o); });
}

const bool export_registered = register_verb(48, add_export);

}  // namespace
}  // namespace ddp::commands
