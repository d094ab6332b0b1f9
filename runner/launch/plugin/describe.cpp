#include "launch/plugin/describe.h"

#include "base/error.h"
#include "launch/library/rank_library.h"
#include "launch/plugin/source_texts.h"
#include "launch/process/child.h"
#include "rank/components.h"

namespace ddp::launch {
namespace {

std::string without(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  return at == std::string::npos ? text : text.substr(0, at) + text.substr(at + part.size());
}

config::Value ask_for_components(const std::filesystem::path& folder) {
  return RankLibrary::reply_in(ask_child("loading it", {}, [&](int pipe) {
    const RankLibrary ranks(/*gpus=*/false, {.folder = folder});
    const rank::Task nobody;
    ranks.answer({.verb = rank::ComponentsRequest::kVerb, .task = nobody}, pipe);
  }));
}

}  // namespace

config::Value describe_plugin(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& sources) {
  const std::string names = file_names(sources);
  try {
    return ask_for_components(folder);
  } catch (const Error& error) {
    throw usage_error("compiles, but cannot be used: " + without(error.summary(), "error: "), names);
  } catch (const config::Value::exception&) {
    throw usage_error("compiles, but ends the process that loads it", names);
  }
}

}  // namespace ddp::launch
