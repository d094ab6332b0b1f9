#include "base/glob.h"
#include "catch.h"
#include "record/scratch.h"

namespace ddp {

TEST_CASE("a glob gives the files that match it, sorted by their bytes") {
  const record::Scratch scratch;
  const std::string folder = scratch.folder().string() + "/";
  for (const char* name : {"b.npy", "a-10.npy", "a-2.npy", "B.npy", "c.txt", "sub/d.npy"}) scratch.write(name, "");
  CHECK(matching_paths(folder + "*.npy") ==
        std::vector<std::string>{folder + "B.npy", folder + "a-10.npy", folder + "a-2.npy", folder + "b.npy"});
  CHECK(matching_paths(folder + "[ab].npy") == std::vector<std::string>{folder + "b.npy"});
  CHECK(matching_paths(folder + "*/?.npy") == std::vector<std::string>{folder + "sub/d.npy"});
  CHECK(matching_paths(folder + "none*").empty());
}

TEST_CASE("a path without a pattern, or with a name that exists literally, is itself") {
  const record::Scratch scratch;
  const std::string name = (scratch.folder() / "x[1].npy").string();
  scratch.write("x[1].npy", "");
  scratch.write("x1.npy", "");
  CHECK(matching_paths(name) == std::vector<std::string>{name});
  CHECK(matching_paths("/nowhere/x.npy") == std::vector<std::string>{"/nowhere/x.npy"});
}

}  // namespace ddp
