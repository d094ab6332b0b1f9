#include "sources.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCache = "cache";

std::vector<fs::path> cache_entries(const Workspace& w) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (fs::directory_iterator entry(w.folder() / kCache / "ddp-exp/plugins", none), end; !none && entry != end;
       entry.increment(none)) {
    entries.push_back(entry->path());
  }
  return entries;
}

bool is_compiled(const fs::path& entry) {
  return entry.filename().string().starts_with("plugin-") && entry.extension().empty();
}

}  // namespace

std::string own_model(const std::string& activation, const std::string& more) {
  return R"(#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>
#include <torch/nn/modules/linear.h>

#include "models/model.h"

namespace ddp::models {
namespace {

struct OwnOptions {
  std::int64_t width = 64;
  void fields(config::Fields& f) {
    f({.name = "width", .doc = "of the hidden layer", .range = config::at_least(1)}, width);
  }
};

struct OwnImpl : torch::nn::Module {
  explicit OwnImpl(const OwnOptions& o) {
    first = register_module("first", torch::nn::Linear(6, o.width));
    second = register_module("second", torch::nn::Linear(o.width, 2));
  }
  at::Tensor forward(at::Tensor x) { return second()" +
         activation + R"((first(x))); }

  torch::nn::Linear first{nullptr};
  torch::nn::Linear second{nullptr};
};

const bool own_registered =
    registry().add<OwnOptions>("own", "a model of the test", [](const OwnOptions& o, const Placement&) {
      return torch::nn::AnyModule(std::make_shared<OwnImpl>(o));
    });

}  // namespace
}  // namespace ddp::models
)" + more;
}

SourcesWorkspace::SourcesWorkspace() {
  environment_["XDG_CACHE_HOME"] = folder() / kCache;
  write("own.cpp", own_model());
  write("own.toml", kOwn);
}

std::vector<fs::path> SourcesWorkspace::compiled() const {
  std::vector<fs::path> folders;
  for (const fs::path& entry : cache_entries(*this)) {
    if (is_compiled(entry)) folders.push_back(entry);
  }
  return folders;
}

std::vector<fs::path> SourcesWorkspace::left_over() const {
  std::vector<fs::path> left;
  for (const fs::path& entry : cache_entries(*this)) {
    if (!is_compiled(entry) && entry.extension() != ".lock" && entry.extension() != ".headers") left.push_back(entry);
  }
  return left;
}

std::vector<fs::path> SourcesWorkspace::unfinished() const {
  std::vector<fs::path> unfinished;
  for (const fs::path& entry : cache_entries(*this)) {
    if (entry.extension() == ".lock" || entry.extension() == ".tmp") unfinished.push_back(entry);
  }
  return unfinished;
}

}  // namespace ddp::system_test
