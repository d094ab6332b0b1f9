#include "launch/start/probe.h"

#include <stdlib.h>
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.h"
#include "scratch_folder.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

// A separate cache folder for one test.
struct CacheFolder : ScratchFolder {
  CacheFolder() { setenv("XDG_CACHE_HOME", folder().c_str(), /*overwrite=*/1); }
  ~CacheFolder() {
    before_.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before_.c_str(), /*overwrite=*/1);
  }
  fs::path entries() const { return folder() / "ddp-exp/probes"; }

 private:
  const std::string before_ = getenv("XDG_CACHE_HOME") == nullptr ? "" : getenv("XDG_CACHE_HOME");
};

}  // namespace

TEST_CASE("a kept probe is found again only under its key") {
  const CacheFolder cache;
  const config::Value probe = config::write(rank::Probe{.warnings = {"careful"}, .parameters = 12});
  keep_reply("a", probe);
  CHECK(find_reply("a") == probe);
  CHECK_FALSE(find_reply("b"));
  keep_reply("", {{"parameters", 1}});
  CHECK_FALSE(find_reply(""));
}

TEST_CASE("an entry with a changed or missing byte is not used") {
  const CacheFolder cache;
  keep_reply("a", {{"parameters", 12}});
  const fs::path entry = cache.entries() / "a";
  const std::string whole = content_of(entry);
  REQUIRE(whole.size() > 20);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    std::ofstream(entry, std::ios::binary) << damaged;
    INFO("byte " << i);
    CHECK_FALSE(find_reply("a"));
    std::ofstream(entry, std::ios::binary) << whole.substr(0, i);
    CHECK_FALSE(find_reply("a"));
  }
  std::ofstream(entry, std::ios::binary) << whole;
  CHECK(find_reply("a"));
}

TEST_CASE("the oldest entries are removed if the cache has more than 200") {
  const CacheFolder cache;
  for (int i = 0; i < 205; ++i) {
    const std::string key = "k" + std::to_string(i);
    keep_reply(key, {{"parameters", i}});
    // Each is an hour older than the next one.
    fs::last_write_time(cache.entries() / key, fs::file_time_type::clock::now() - std::chrono::hours(1000 - i));
  }
  keep_reply("new", {{"parameters", 1}});
  CHECK(std::distance(fs::directory_iterator(cache.entries()), fs::directory_iterator()) == 200);
  CHECK(find_reply("new"));
  CHECK(find_reply("k204"));
  CHECK_FALSE(find_reply("k0"));
}

TEST_CASE("a cache folder that cannot be made keeps nothing and is not an error") {
  const CacheFolder cache;
  std::ofstream(cache.entries().parent_path()) << "a file in place of the folder";
  keep_reply("a", {{"parameters", 12}});
  CHECK_FALSE(find_reply("a"));
}

}  // namespace ddp::launch
