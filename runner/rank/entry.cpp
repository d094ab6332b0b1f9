#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <system_error>

#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/paths.h"
#include "dist/waiting.h"
#include "rank/verbs.h"

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

// The reason why a request failed.
struct RequestFailure {
  Error error;
  dist::PeerTrouble peer = dist::PeerTrouble::none;
};

// Reports to the parent, through the shared progress, why this rank ends.
void tell_failure(const Task& task, const RequestFailure& failure) {
  const std::string what = failure.error.what();
  if (task.logs_failure) log::error(what);
  record::RankProgress& progress = task.progress->rank(task.rank);
  // A restart would fail with the same error.
  if (failure.error.fault() == Fault::usage) progress.no_restart = true;
  std::strncpy(progress.error, what.c_str(), sizeof progress.error - 1);
  progress.peer_lost = failure.peer == dist::PeerTrouble::lost;
  progress.peer_late = failure.peer == dist::PeerTrouble::late;
  progress.failed = true;
  // A launcher such as torchrun blames the rank that ends first: the cause must end before this rank.
  const timespec moment{.tv_sec = 2, .tv_nsec = 0};
  if (progress.peer_lost && !task.watched) nanosleep(&moment, nullptr);
}

// Reports the failure to the sender of the request.
void tell(const Request& request, const RequestFailure& failure) {
  if (request.refuse) {
    request.refuse(failure.error);
  } else {
    tell_failure(request.task, failure);
  }
}

RequestFailure failure_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const c10::Error& error) {
    return {training_error(error.what_without_backtrace()), dist::peer_trouble(error)};
  } catch (const Error& error) {
    return {error, dist::peer_trouble(error)};
  } catch (const std::filesystem::filesystem_error& error) {
    return {as_error(error)};
  } catch (const std::system_error& error) {
    // Only the start of a thread fails so.
    const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
    return {training_error(no_thread ? "cannot start a thread: " + task_limit() : error.what()),
            dist::peer_trouble(error)};
  } catch (const std::bad_alloc& error) {
    return {as_error(error)};
  } catch (const std::exception& error) {
    return {training_error(error.what()), dist::peer_trouble(error)};
  }
}

// State for end_for_thrown(); global because a terminate handler takes no arguments.
const Request* served = nullptr;
bool is_loading = false;

// Reports an exception that nobody can catch, and ends the process: one that a plugin throws while it is loaded, or one
// that leaves a destructor, as torch's do after a fault of a GPU.
[[noreturn]] void end_for_thrown() {
  try {
    if (const auto thrown = std::current_exception()) {
      RequestFailure failure = failure_of(thrown);
      if (is_loading) {
        failure.error =
            usage_error(std::string("throws an exception during loading: ") + failure.error.what(), "sources");
      }
      tell(*served, failure);
      _exit(served->refuse ? 0 : 1);  // a refusal is a valid reply
    }
  } catch (...) {  // the type has no message
  }
  std::abort();
}

// Loads the library compiled from the files of `sources`; its components register themselves. Throws ddp::Error (usage)
// if the library cannot be loaded. If its code throws during loading, end_for_thrown() ends the process, because
// exceptions cannot pass through the loader.
void load_plugin(const std::filesystem::path& library) {
  is_loading = true;
  const bool is_loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
  is_loading = false;
  if (!is_loaded) {
    throw usage_error("cannot be loaded: " + readable(dlerror()), "sources",
                      "start again: a damaged library is compiled again");
  }
}

// Serves the request. Returns nullopt if it succeeded.
std::optional<RequestFailure> serve(const Request& request) {
  served = &request;
  const std::terminate_handler before = std::set_terminate(end_for_thrown);
  std::optional<RequestFailure> failure;
  try {
    if (!request.plugin.empty()) load_plugin(request.plugin);
    const TakeReply ignored = [](const config::Value&) {};
    verbs().build(request.verb, request.options, request.task, request.reply ? request.reply : ignored);
  } catch (const std::exception&) {
    failure = failure_of(std::current_exception());
  }
  std::set_terminate(before);
  return failure;
}

void become_rank(const Task& task) {
  if (task.is_rank) log::become_rank(task.rank, /*own_log=*/task.watched);
  // As in Python: a write to a rank that has ended must return an error, not kill this process.
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

Verbs& verbs() {
  static Verbs all("verb");
  return all;
}

extern "C" int ddp_rank_serve(const Request* request) {
  if (!request->refuse) become_rank(request->task);
  const std::optional<RequestFailure> failure = serve(*request);
  if (!failure) return 0;
  tell(*request, *failure);
  return 1;
}

}  // namespace ddp::rank
