// An experiment file, and, after a line "%%", one --set assignment per line.
#include "config/scratch.h"
#include "target.h"

namespace ddp::fuzz {
namespace {

struct Input {
  std::string file;
  std::vector<std::string> sets = {};
};

Input split(std::string_view bytes) {
  constexpr std::string_view kSeparator = "\n%%\n";
  const std::size_t end = bytes.find(kSeparator);
  Input input{.file = std::string(bytes.substr(0, end))};
  if (end == std::string_view::npos) return input;
  for (std::string_view rest = bytes.substr(end + kSeparator.size()); !rest.empty();) {
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    input.sets.emplace_back(rest.substr(0, line));
    rest.remove_prefix(std::min(line + 1, rest.size()));
  }
  return input;
}

// A valid experiment is written, and must read back the same.
void check_written(const config::Loaded& loaded) {
  const auto again =
      config::load(scratch_file("again.toml", config::to_toml(loaded.experiment)), {}, config::sample_components());
  require(config::write(again.experiment) == config::write(loaded.experiment), "config.toml repeats the run");
}

}  // namespace
}  // namespace ddp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const auto input = fuzz::split({reinterpret_cast<const char*>(data), size});
  const auto file = fuzz::scratch_file("x.toml", input.file);
  std::optional<config::Loaded> loaded;
  try {
    loaded = config::load(file, input.sets, config::sample_components());
  } catch (const Error& error) {
    fuzz::require(error.exit_code() == 2, "a wrong file ends with exit 2");
    fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
  }
  if (loaded) fuzz::check_written(*loaded);
  return 0;
}
