#include <sys/wait.h>
#include <unistd.h>
#include <new>
#include <stdexcept>

#include "base/glob.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "catch.h"
#include "errors.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp {
namespace fs = std::filesystem;

TEST_CASE("an exception of std::filesystem becomes an error with the act, the paths and the reason") {
  std::error_code missing = std::make_error_code(std::errc::no_such_file_or_directory);
  const fs::filesystem_error one("cannot copy", "/a b", missing);
  CHECK(std::string(as_error(one).what()) == "/a b: cannot copy: No such file or directory");
  const fs::filesystem_error two("cannot copy", "/a", "/b", missing);
  CHECK(std::string(as_error(two).what()) == "/a, /b: cannot copy: No such file or directory");
}

TEST_CASE("every other exception becomes an error that says whose fault it is, and an Error stays unchanged") {
  CHECK(std::string(as_error(std::bad_alloc()).what()) == "not enough memory");
  const std::string internal = as_error(std::out_of_range("map::at")).what();
  CHECK(contains(internal, "internal error: map::at"));
  CHECK(contains(internal, "please report it with the command line"));
  const Error own = usage_error("what", "where", "remedy");
  CHECK(std::string(as_error(own).what()) == own.what());
  CHECK(as_error(own).exit_code() == 2);
}

TEST_CASE("an error of a file system call names the path and the reason") {
  CHECK(contains(error_of([] { paths::without_links("/proc/none"); }), "/proc/none: cannot follow the path: No such"));
  CHECK(contains(error_of([] { paths::make_folders("/proc/self/exe/x"); }), "/proc/self/exe/x: cannot"));
  CHECK(contains(error_of([] { paths::entries("/proc/self/exe"); }), "/proc/self/exe: cannot read the folder: Not a"));
  CHECK(contains(error_of([] { paths::rename("/proc/none", "/proc/other"); }), "cannot rename it to /proc/other"));
  CHECK(paths::program() == fs::read_symlink("/proc/self/exe"));
}

TEST_CASE("an absolute path has no dots, and without a working directory the error says so") {
  CHECK(paths::absolute("/a/./b/../c") == "/a/c");
  CHECK(paths::absolute("x/../y") == fs::current_path() / "y");
  // A child process, since the other tests need their working directory.
  const pid_t child = fork();
  if (child == 0) {
    char name[] = "/tmp/ddp-paths-XXXXXX";
    bool good = mkdtemp(name) != nullptr && chdir(name) == 0 && rmdir(name) == 0;
    good = good && contains(error_of([] { paths::absolute("x"); }), "x: cannot make this absolute");
    good = good && contains(error_of([] { paths::working_folder(); }), "cannot find the working folder");
    good = good && paths::absolute("/a/b") == "/a/b";
    _exit(good ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a path in a printed command is one word of the shell and never an option") {
  CHECK(path_word("/a/b-c_d.toml") == "/a/b-c_d.toml");
  CHECK(path_word("two words") == "'two words'");
  CHECK(path_word("-x/run") == "./-x/run");
}

TEST_CASE("a glob gives the files that match it, sorted by their bytes") {
  const ScratchFolder scratch;
  const std::string folder = scratch.folder().string() + "/";
  for (const char* name : {"b.npy", "a-10.npy", "a-2.npy", "B.npy", "c.txt", "sub/d.npy"}) scratch.write(name, "");
  CHECK(matching_paths(folder + "*.npy") ==
        std::vector<std::string>{folder + "B.npy", folder + "a-10.npy", folder + "a-2.npy", folder + "b.npy"});
  CHECK(matching_paths(folder + "[ab].npy") == std::vector<std::string>{folder + "b.npy"});
  CHECK(matching_paths(folder + "*/?.npy") == std::vector<std::string>{folder + "sub/d.npy"});
  CHECK(matching_paths(folder + "none*").empty());
}

TEST_CASE("a path without a pattern, or with a name that exists literally, is itself") {
  const ScratchFolder scratch;
  const std::string name = (scratch.folder() / "x[1].npy").string();
  scratch.write("x[1].npy", "");
  scratch.write("x1.npy", "");
  CHECK(matching_paths(name) == std::vector<std::string>{name});
  CHECK(matching_paths("/nowhere/x.npy") == std::vector<std::string>{"/nowhere/x.npy"});
}

}  // namespace ddp
