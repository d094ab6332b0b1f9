#pragma once

#include <string>

namespace ddp {

// The variable by which a script that starts this program tells how people called the script.
inline constexpr const char* kCalledAs = "DDP_EXP_CALLED_AS";

// Takes down how this program was called: as `argv0`, or as the script that started it says. Each program calls it
// once, when it begins.
void remember_call(const char* argv0);

// Returns a command of this program, in words for the same shell: "scripts/ddp-exp resume basic" where it was called as
// scripts/ddp-exp, "ddp-exp resume basic" where the shell found it on PATH.
std::string own_command(const std::string& arguments);

// Returns a command of the checkout's script, which fetches and builds: "scripts/ddp-exp --setup-only".
std::string setup_command(const std::string& arguments);

}  // namespace ddp
