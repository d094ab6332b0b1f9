#include "catch.h"
#include "images/files.h"
#include "words.h"

namespace ddp {
namespace {

std::string with_bytes(std::string file, std::size_t at, const std::string& bytes) {
  return file.replace(at, bytes.size(), bytes);
}

// The position of the height in a JPEG's frame header; the width follows it.
std::size_t size_in_jpeg(const std::string& file) { return file.find("\xff\xc0") + 5; }

}  // namespace

TEST_CASE("a file that is not an image is refused by its name") {
  CHECK(contains(refusal_of(""), "is empty"));
  CHECK(contains(refusal_of(""), "image"));
  CHECK(contains(refusal_of("GIF89a and so on"), "is not a JPEG, PNG or WebP image"));
  for (const char* begin : {"\xff\xd8\xff", "\x89PNG\r\n\x1a\n", "RIFF\x08"}) CHECK(refusal_of(begin) != "");
}

TEST_CASE("unsupported kinds of images are refused with the kind") {
  const Picture picture = make_picture(20, 30);
  CHECK(contains(refusal_of(png_of(picture, false, 16)), "16 bits"));
  for (const int bits : {0, 3, 99}) {
    const std::string says = "its header says " + std::to_string(bits) + " bits per channel";
    CHECK(contains(refusal_of(with_bytes(png_of(picture), 24, std::string(1, static_cast<char>(bits)))), says));
  }
  const std::string still = webp_of(picture);
  // A header of the extended format with the animation flag and the canvas size minus one.
  const std::string extended("VP8X\x0a\0\0\0\x02\0\0\0\x1d\0\0\x13\0\0", 18);
  std::string animated = still.substr(0, 12) + extended + still.substr(12);
  animated[4] = static_cast<char>(animated[4] + extended.size());
  CHECK(contains(refusal_of(animated), "an animated WebP"));
}

TEST_CASE("a truncated file is refused when it is opened, and so is every part of it") {
  const Picture picture = make_picture(200, 300);  // more than libpng reads at once
  const std::vector<std::string> files = {jpeg_of(picture), jpeg_of(picture, {.progressive = true}),
                                          png_of(picture),  png_of(picture, true),
                                          webp_of(picture), webp_of(picture, true)};
  for (const std::string& file : files) {
    for (std::size_t bytes = 0; bytes + 1 < file.size(); bytes += 1 + file.size() / 50) {
      const std::string cut = file.substr(0, bytes);
      INFO(file.substr(0, 4) << ", " << bytes << " of " << file.size() << " bytes");
      CHECK(refusal_to_open(cut) != "");
    }
    CHECK(refusal_of(file) == "");
  }
}

TEST_CASE("bytes after an image are ignored") {
  const Picture picture = make_picture(20, 30);
  for (const std::string& file : {jpeg_of(picture), png_of(picture), webp_of(picture)}) {
    CHECK(decode(file + "and more").pixels == decode(file).pixels);
  }
}

TEST_CASE("damage that a checksum reveals is refused") {
  const std::string file = png_of(make_picture(20, 30));
  CHECK(contains(refusal_of(with_bytes(file, 16, std::string("\0\0\0\x10", 4))), "is damaged"));
  CHECK(contains(refusal_of(with_bytes(file, file.find("IDAT") + 20, "damage")), "is damaged"));
}

TEST_CASE("an image that claims more pixels than Pillow accepts is refused before memory is allocated for it") {
  const Picture picture = make_picture(16, 16);
  const std::string jpeg = jpeg_of(picture);
  CHECK(contains(refusal_of(with_bytes(jpeg, size_in_jpeg(jpeg), "\x7f\x10\x7f\x10")), "178956970 pixels"));
  CHECK(contains(refusal_of(with_bytes(png_of(picture), 16, std::string("\0\x10\0\0\0\x10\0\0", 8))),
                 "178956970 pixels"));
  CHECK(contains(refusal_of(with_bytes(png_of(picture), 16, std::string(8, '\0'))), "no pixels"));
}

TEST_CASE("a JPEG with more scans than any real image is refused") {
  const std::string file = jpeg_of(make_picture(16, 16), {.progressive = true, .gray = true});
  const std::size_t last = file.rfind("\xff\xda");
  const std::string scan = file.substr(last, file.size() - 2 - last);
  std::string many = file.substr(0, file.size() - 2);
  for (int i = 0; i < 600; ++i) many += scan;
  CHECK(contains(refusal_of(many + "\xff\xd9"), "more scans"));
}

}  // namespace ddp
