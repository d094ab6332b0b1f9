// Preloaded into ddp-exp: simulates a run that trains and replaces its checkpoint while a command uses it. The
// checkpoint DDP_REPLACED becomes the hidden folder .gone when the command, which has loaded the rank library, starts
// its first child.

#include <dlfcn.h>
#include <sys/types.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

extern "C" pid_t fork() {
  static const auto real = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"));
  if (void* const library = dlopen("libddp_rank.so", RTLD_LAZY | RTLD_NOLOAD)) {
    const std::filesystem::path checkpoint = std::getenv("DDP_REPLACED");
    std::rename(checkpoint.c_str(), (checkpoint.parent_path() / ".gone").c_str());
    dlclose(library);
  }
  return real();
}
