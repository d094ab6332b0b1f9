#include "base/error.h"
#include "catch.h"
#include "commands/comm/comm_options.h"
#include "words.h"

namespace ddp::commands {
namespace {

using Sizes = std::vector<std::int64_t>;

std::string mistake(const std::string& text) {
  try {
    parse_sizes(text);
  } catch (const Error& error) {
    return error.exit_code() == 2 ? error.what() : "not a mistake of the user";
  }
  return "none";
}

}  // namespace

TEST_CASE("sizes are bytes with a unit of 1024 or of 1000") {
  CHECK(parse_sizes("512") == Sizes{512});
  CHECK(parse_sizes("512B,3 KiB,2MiB,1GiB,1TiB") == Sizes{512, 3 << 10, 2 << 20, 1 << 30, std::int64_t{1} << 40});
  CHECK(parse_sizes("1K,1M,1G") == Sizes{1 << 10, 1 << 20, 1 << 30});
  CHECK(parse_sizes("1KB,1MB,1GB") == Sizes{1000, 1000000, 1000000000});
}

TEST_CASE("a range doubles or multiplies by its factor and never exceeds its end") {
  CHECK(parse_sizes("1KiB..8KiB") == Sizes{1024, 2048, 4096, 8192});
  CHECK(parse_sizes("1KiB..7KiB") == Sizes{1024, 2048, 4096});
  CHECK(parse_sizes("1..1000:10") == Sizes{1, 10, 100, 1000});
  CHECK(parse_sizes("4..4") == Sizes{4});
  CHECK(parse_sizes("8,1KiB..2KiB,5") == Sizes{8, 1024, 2048, 5});
  CHECK(parse_sizes("1..9223372036854775807").size() == 63);
}

TEST_CASE("a text that is not a size is refused with its mistake") {
  CHECK(contains(mistake("12Q"), "\"12Q\" is not a size"));
  CHECK(contains(mistake("0"), "between 1 byte and"));
  CHECK(contains(mistake("-4"), "between 1 byte and"));
  CHECK(contains(mistake("many"), "\"many\" is not a size"));
  CHECK(contains(mistake(""), "is not a size"));
  CHECK(contains(mistake("1KiB,"), "\"\" is not a size"));
  CHECK(contains(mistake("1.5MiB"), "is not a size"));
  CHECK(contains(mistake("2MiB..1MiB"), "ends before it begins"));
  CHECK(contains(mistake("1..4:1"), "whole number of at least 2"));
  CHECK(contains(mistake("1..4:x"), "whole number of at least 2"));
  CHECK(contains(mistake("1..2..3"), "is not a size"));
  CHECK(contains(mistake("9999999TiB"), "is not a size"));
  CHECK(contains(mistake("99999999999999999999"), "is not a size"));
}

}  // namespace ddp::commands
