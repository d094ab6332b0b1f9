#include "commands/comm/comm_options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text_number.h"
#include "commands/options.h"
#include "config/check/rules.h"
#include "config/check/suggest.h"
#include "config/text/source.h"
#include "config/text/toml.h"
#include "report/text/words.h"

namespace ddp::commands {

namespace {

constexpr const char* kSizesRemedy = "write it as 4096, 64KiB, 1KiB..64MiB (doubling), 1KiB..1GiB:4 or 1KiB,1MiB";
constexpr std::size_t kMostSizes = 10'000;

[[noreturn]] void refuse(std::string_view text, const std::string& what) {
  throw usage_error(config::in_quotes(text) + " " + what, "--sizes", kSizesRemedy);
}

// Takes a whole number off the front of the text.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::int64_t parse_size(std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) refuse(text, "is not a size between 1 byte and 8 EiB");
  return *bytes;
}

// A..B or A..B:FACTOR
std::vector<std::int64_t> parse_range(std::string_view text, std::size_t dots) {
  const std::int64_t first = parse_size(text.substr(0, dots));
  std::string_view end = text.substr(dots + 2);
  std::int64_t factor = 2;
  if (const auto colon = end.find(':'); colon != end.npos) {
    std::string_view rest = end.substr(colon + 1);
    const auto given = take_number(rest);
    if (!given || !rest.empty() || *given < 2) refuse(text, "needs a whole number of at least 2 as its factor");
    factor = *given;
    end = end.substr(0, colon);
  }
  const std::int64_t last = parse_size(end);
  if (first > last) refuse(text, "ends before it begins");
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = first;; size *= factor) {
    sizes.push_back(size);
    if (size > last / factor) return sizes;
  }
}

}  // namespace

std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    if (const auto dots = one.find(".."); dots != one.npos) {
      const auto range = parse_range(one, dots);
      sizes.insert(sizes.end(), range.begin(), range.end());
    } else {
      sizes.push_back(parse_size(one));
    }
    if (sizes.size() > kMostSizes) refuse(text, "is more than " + std::to_string(kMostSizes) + " sizes");
    if (comma == rest.npos) return sizes;
    rest.remove_prefix(comma + 1);
  }
}

namespace {

// Tensors per rank at a time: the whole, its parts, and a backend's temporary copy.
constexpr std::int64_t kTensorsOfRank = 3;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

template <class Names>
void require_known(const std::string& name, const Names& names, const char* flag, const std::string& what) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw usage_error("unknown " + what + " " + config::in_quotes(name), flag,
                    config::suggestion(name, {names.begin(), names.end()}, what + "s"));
}

std::vector<std::string> ops_of(const std::string& text) {
  if (text == "all") return {rank::kCommOps.begin(), rank::kCommOps.end()};
  const std::vector<std::string> ops = split(text);
  for (const auto& op : ops) require_known(op, rank::kCommOps, "--op", "collective");
  if (ops.empty()) throw usage_error("names no collective", "--op");
  return ops;
}

// Returns the devices as TOML: a list on the command line needs neither brackets nor quotes.
std::string pool_text(const std::string& devices) {
  if (devices.starts_with('[')) return devices;
  std::vector<std::string> words = split(devices);
  for (std::string& word : words) {
    if (word.find_first_not_of("0123456789") != std::string::npos) word = as_toml(word);
  }
  const bool is_list = words.size() > 1 || devices == "cpu";
  return is_list ? "[" + report::joined(words) + "]" : report::joined(words);
}

config::Value parse_devices(const config::SourceRange& place) {
  config::Mistakes mistakes;
  const auto table = config::parse_toml(place.source, "device_pool = " + pool_text(place.source->text()), mistakes);
  const config::Node* pool = table ? table->find("device_pool") : nullptr;
  if (pool != nullptr) config::check_device_pool(*pool, mistakes);
  if (!mistakes.empty()) throw mistakes.error();
  const config::Value devices = config::to_value(*pool);
  if (devices.is_array() && devices.front().is_array()) {
    throw usage_error("has groups, but here each rank has one device", "--devices", "give a list such as 0,1,2,3");
  }
  return devices;
}

}  // namespace

rank::CommRequest measured_by(const CommFlags& f) {
  require_known(f.dtype, rank::kCommTypes, "--dtype", "element type");
  return {.ops = ops_of(f.op),
          .sizes = parse_sizes(f.sizes),
          .dtype = f.dtype,
          .iterations = f.iterations,
          .warmup = f.warmup,
          .check = f.check};
}

std::vector<std::string> known_backends(const config::Components& components) {
  std::vector<std::string> names{"auto"};
  for (const auto& [name, spec] : components.of("backend")) names.push_back(name);
  return names;
}

config::Loaded settings_of(const CommFlags& f) {
  const config::Components components = config::Components::installed();
  require_known(f.backend, known_backends(components), "--backend", "backend");
  config::Loaded loaded;
  loaded.file = "comm";
  const config::SourceRange devices{.source = config::Source::option(0, "--devices", f.devices)};
  const config::SourceRange backend{.source = config::Source::option(0, "--backend", f.backend)};
  loaded.places = {{"device_pool", devices}, {"distributed.backend", backend}};
  auto& e = loaded.experiment;
  e.resolve(components);
  e.name = "comm";
  e.device_pool = parse_devices(devices);
  e.distributed.backend = f.backend;
  e.distributed.timeout = f.timeout;
  return loaded;
}

void require_memory(const launch::Plan& plan, const rank::CommRequest& o) {
  if (plan.uses_gpus()) return;  // the GPU reports a lack of memory itself
  const std::int64_t greatest = *std::max_element(o.sizes.begin(), o.sizes.end());
  const std::int64_t free = available_memory();
  const std::int64_t most = free / kTensorsOfRank / plan.ranks_here();
  if (greatest <= most) return;
  throw usage_error(std::to_string(greatest >> 20) + " MiB on each of " + std::to_string(plan.ranks_here()) +
                        " ranks is more than this machine's memory holds: " + std::to_string(free >> 20) +
                        " MiB are free",
                    "--sizes", "use at most " + std::to_string(most >> 20) + "MiB");
}

}  // namespace ddp::commands
