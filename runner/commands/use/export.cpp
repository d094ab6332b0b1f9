#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "commands/options.h"
#include "commands/use/unnamed_output.h"
#include "config/text/source.h"
#include "launch/library/rank_library.h"
#include "rank/verbs.h"
#include "record/file/input_file.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kCopiedAtOnce = 8u << 20;

struct ExportOptions {
  runs::TrainedOptions trained;
  std::string output;
  bool evaluates = false;
};

bool is_archive(const ExportOptions& o) { return fs::path(o.output).extension() == ".pt2"; }

void require_written_format(const ExportOptions& o) {
  refuse_folder(o.output, "weights.safetensors");
  if (!is_archive(o) && fs::path(o.output).extension() != ".safetensors") {
    throw usage_error("has an unknown ending", o.output, "use .safetensors, or .pt2 for a model written in Python");
  }
  if (o.evaluates && !is_archive(o)) {
    throw usage_error("applies only to a .pt2 file: weights are the same in training and evaluation", "--eval",
                      "leave it out");
  }
}

// Returns the run's graph. If the model has two, --eval selects the one for evaluation.
std::string archive_of(const config::Component& model, const ExportOptions& o, const std::string& run) {
  if (model.name != "exported") {
    throw usage_error(
        "a .pt2 file holds a model of torch.export, but the model of this run is " + config::in_quotes(model.name), run,
        "use a name that ends in .safetensors");
  }
  const config::Value copies = model.with_copies();
  for (const config::Value& files : {model.options, copies}) {
    for (const char* option : {"path", "eval"}) {
      std::error_code none;
      if (!fs::equivalent(files.value(option, ""), o.output, none)) continue;
      throw usage_error("is the model's own file", o.output, "give another name");
    }
  }
  const std::string second = copies.value("eval", "");
  return o.evaluates && !second.empty() ? second : copies.at("path").get<std::string>();
}

void copy_into(int descriptor, const record::InputFile& in, const std::string& name) {
  std::vector<char> piece(std::min(kCopiedAtOnce, in.size()));
  for (std::uint64_t done = 0; done < in.size(); done += piece.size()) {
    piece.resize(std::min(kCopiedAtOnce, in.size() - done));
    in.read(done, piece.data(), piece.size());
    write_all(descriptor, piece.data(), piece.size(), name);
  }
}

// `switches`: converts the graph to the one for evaluation.
void write_archive(const fs::path& weights, const UnnamedOutput& output, const std::string& archive, bool switches,
                   const ExportOptions& o) {
  const rank::ExportRequest request{
      .archive = archive, .weights = weights.string(), .evaluates = switches, .descriptor = output.descriptor()};
  const launch::RankLibrary library(/*gpus=*/false);
  const rank::Exported written = library.ask("writing the archive", rank::Task{}, request, {output.descriptor()});
  if (written.error != 0) {
    throw training_error("cannot be written: " + errno_text(static_cast<int>(written.error)), o.output);
  }
}

void export_model(const ExportOptions& o) {
  const record::RunDirectory directory = runs::find_run(o.trained);
  const runs::Standing chosen = runs::choose_trained(directory, o.trained);
  const config::Experiment& experiment = chosen.loaded.experiment;
  const fs::path& checkpoint = chosen.checkpoint;
  const std::string archive = is_archive(o) ? archive_of(experiment.model, o, directory.path().string()) : "";
  std::error_code none;
  for (const char* own : {"model.safetensors", "ema.safetensors"}) {
    if (!fs::equivalent(checkpoint / own, o.output, none)) continue;
    throw usage_error("is the checkpoint's own file", o.output, "give another name");
  }
  const bool averaged = !o.trained.raw && fs::exists(checkpoint / "ema.safetensors", none);
  const fs::path file = checkpoint / (averaged ? "ema.safetensors" : "model.safetensors");
  UnnamedOutput output(o.output);
  const record::InputFile weights(file);
  if (is_archive(o)) {
    // A graph exported from model.eval() already evaluates.
    const bool switches = o.evaluates && experiment.model.options.value("eval", "").empty();
    write_archive(file, output, archive, switches, o);
  } else {
    // The file has the whole weights under the names of Python's state_dict(), independent of the ranks that trained
    // them (train/states/model.cpp, train/states/ema.cpp).
    copy_into(output.descriptor(), weights, o.output);
  }
  output.put_in_place();
}

void export_chosen(ExportOptions& o) {
  require_written_format(o);
  runs::while_saving(runs::choose_run(o.trained), [&] { export_model(o); });
}

void add_export(CLI::App& verb, ExportOptions& o) {
  add_trained_run(verb, o.trained);
  completes(
      verb.add_option("OUT", o.output, "a .safetensors file; or a .pt2 file for a model written in Python")->required(),
      completion::files({".safetensors"}));
  verb.add_flag("--eval", o.evaluates, "for a .pt2 file: write the graph for evaluation, without dropout");
}

const bool export_registered =
    register_verb(48, "export", "write the weights of a trained model to a file for Python", add_export, export_chosen,
                  {.examples = {"export digits weights.safetensors"}});

}  // namespace
}  // namespace ddp::commands
