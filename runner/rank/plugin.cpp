#include "rank/plugin.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>

namespace ddp::rank {
namespace {

// Returns the text of dlerror with demangled symbol names.
std::string readable(const std::string& why) {
  const std::size_t at = why.find("_Z");
  if (at == std::string::npos) return why;
  const std::size_t end = std::min(why.size(), why.find_first_of(" ,)", at));
  int status = 0;
  char* name = abi::__cxa_demangle(why.substr(at, end - at).c_str(), nullptr, nullptr, &status);
  const std::string text = status == 0 ? why.substr(0, at) + name + why.substr(end) : why;
  std::free(name);
  return text;
}

// The `end` of load_plugin; global because a terminate handler takes no arguments.
const std::function<void(const Error&)>* end_process = nullptr;

[[noreturn]] void end_for_thrown() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    (*end_process)(usage_error(std::string("throws an exception during loading: ") + error.what(), "sources"));
  } catch (...) {  // the type has no message
  }
  std::abort();
}

}  // namespace

void load_plugin(const std::filesystem::path& library, const std::function<void(const Error&)>& end) {
  end_process = &end;
  const std::terminate_handler before = std::set_terminate(end_for_thrown);
  const bool is_loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
  std::set_terminate(before);
  if (!is_loaded) {
    throw usage_error("cannot be loaded: " + readable(dlerror()), "sources",
                      "start again: a damaged library is compiled again");
  }
}

}  // namespace ddp::rank
