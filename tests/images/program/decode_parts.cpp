// Decodes images for a test in another language. Reads lines "TOP LEFT HEIGHT WIDTH FILE"; a height of 0 means the
// whole image. Answers each line with "HEIGHT WIDTH" of the image and then the pixels of the part, or with "error
// TEXT".
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/image.h"

namespace {

void answer(const std::string& file, ddp::format::Rectangle part) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto image = ddp::format::open_image(std::as_bytes(std::span(bytes)), file);
  const ddp::format::ImageSize size = image->size();
  if (part.height == 0) part = {.height = size.height, .width = size.width};
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(part.height * part.width * 3));
  image->decode(part, pixels.data());
  std::printf("%ld %ld\n", static_cast<long>(size.height), static_cast<long>(size.width));
  std::fwrite(pixels.data(), 1, pixels.size(), stdout);
}

}  // namespace

int main() {
  ddp::format::Rectangle part;
  for (std::string file; std::cin >> part.top >> part.left >> part.height >> part.width >> std::ws;) {
    std::getline(std::cin, file);
    try {
      answer(file, part);
    } catch (const ddp::Error& error) {
      std::string text = error.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::printf("error %s\n", text.c_str());
    }
    std::fflush(stdout);
  }
}
