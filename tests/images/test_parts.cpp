#include <random>

#include "catch.h"
#include "images/files.h"

namespace ddp {
namespace {

constexpr int kParts = 60;  // of each file

format::Rectangle random_part(std::mt19937& draw, const format::ImageSize& size) {
  const auto below = [&](std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n - 1)(draw); };
  format::Rectangle part{.top = below(size.height), .left = below(size.width)};
  part.height = 1 + below(size.height - part.top);
  part.width = 1 + below(size.width - part.left);
  return part;
}

// Describes the first part whose pixels differ.
std::string differing_part(const std::string& file) {
  std::mt19937 draw(1);
  const Picture whole = decode(file);
  for (int i = 0; i < kParts; ++i) {
    const format::Rectangle part = random_part(draw, whole.size);
    if (decode_part(file, part) == cut_out(whole, part)) continue;
    return std::to_string(part.height) + "x" + std::to_string(part.width) + " at " + std::to_string(part.top) + ", " +
           std::to_string(part.left);
  }
  return "";
}

const std::vector<format::ImageSize> kSizes = {{.height = 1, .width = 1},    {.height = 3, .width = 50},
                                               {.height = 17, .width = 9},   {.height = 48, .width = 64},
                                               {.height = 61, .width = 131}, {.height = 200, .width = 151}};

}  // namespace

TEST_CASE("a part of a JPEG has the pixels that it has in the whole for every subsampling") {
  const std::vector<std::array<std::array<int, 2>, 3>> samplings = {
      {{{1, 1}, {1, 1}, {1, 1}}}, {{{2, 1}, {1, 1}, {1, 1}}}, {{{2, 2}, {1, 1}, {1, 1}}}, {{{1, 2}, {1, 1}, {1, 1}}},
      {{{4, 1}, {1, 1}, {1, 1}}}, {{{4, 2}, {1, 1}, {1, 1}}}, {{{1, 4}, {1, 1}, {1, 1}}}, {{{2, 2}, {2, 1}, {1, 2}}},
      {{{2, 2}, {1, 2}, {2, 1}}}, {{{1, 1}, {2, 2}, {1, 1}}}, {{{4, 1}, {2, 1}, {1, 1}}}, {{{3, 1}, {1, 1}, {1, 1}}}};
  for (const format::ImageSize& size : kSizes) {
    const Picture picture = make_picture(size.height, size.width);
    for (const auto& sampling : samplings) {
      for (const bool progressive : {false, true}) {
        INFO(size.height << "x" << size.width << ", luma " << sampling[0][0] << "x" << sampling[0][1] << ", blue "
                         << sampling[1][0] << "x" << sampling[1][1] << ", red " << sampling[2][0] << "x"
                         << sampling[2][1] << (progressive ? ", progressive" : ""));
        CHECK(differing_part(jpeg_of(picture, {.sampling = sampling, .progressive = progressive})) == "");
      }
    }
  }
}

TEST_CASE("a part of a gray or CMYK JPEG, or of one with restart markers, has the pixels that it has in the whole") {
  for (const format::ImageSize& size : kSizes) {
    const Picture picture = make_picture(size.height, size.width);
    for (const bool progressive : {false, true}) {
      CHECK(differing_part(jpeg_of(picture, {.progressive = progressive, .gray = true})) == "");
      CHECK(differing_part(jpeg_of(picture, {.progressive = progressive, .cmyk = true})) == "");
      CHECK(differing_part(jpeg_of(picture, {.progressive = progressive, .restart_interval = 3})) == "");
    }
  }
}

TEST_CASE("a part of a progressive JPEG whose last scans are missing has the pixels that it has in the whole") {
  const std::string file = jpeg_of(make_picture(100, 120), {.progressive = true});
  int cut = 0;
  for (std::size_t scan = file.find("\xff\xda", 0); scan != std::string::npos; scan = file.find("\xff\xda", scan + 1)) {
    if (scan == file.find("\xff\xda")) continue;
    // Between two scans lie only tables.
    CHECK(differing_part(file.substr(0, file.rfind("\xff\xc4", scan)) + "\xff\xd9") == "");
    ++cut;
  }
  CHECK(cut > 4);
}

TEST_CASE("a part of a PNG has the pixels that it has in the whole") {
  for (const format::ImageSize& size : kSizes) {
    const Picture picture = make_picture(size.height, size.width);
    for (const bool interlaced : {false, true}) {
      const std::string file = png_of(picture, interlaced);
      CHECK(decode(file).pixels == picture.pixels);
      CHECK(differing_part(file) == "");
    }
  }
}

TEST_CASE("a part of a WebP has the pixels that it has in the whole") {
  for (const format::ImageSize& size : kSizes) {
    const Picture picture = make_picture(size.height, size.width);
    CHECK(differing_part(webp_of(picture)) == "");
    const std::string lossless = webp_of(picture, true);
    CHECK(decode(lossless).pixels == picture.pixels);
    CHECK(differing_part(lossless) == "");
  }
}

}  // namespace ddp
