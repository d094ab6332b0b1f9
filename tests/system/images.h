#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "catch.h"
#include "image_files.h"
#include "workspace.h"

namespace ddp::system_test {

inline constexpr std::uint32_t kImageSide = 12;
inline constexpr int kImagesOfClass = 20;
inline const Words kImageClasses{"dark", "light", "noisy"};

// RGB pixels of an image; its mean or its noise shows its class.
inline std::string class_pixels(int number, int image) {
  std::string pixels = noise(kImageSide * kImageSide * 3, static_cast<std::uint32_t>(number * 1000 + image));
  if (number == 2) return pixels;
  for (char& pixel : pixels)
    pixel = static_cast<char>((static_cast<unsigned char>(pixel) >> 3) + (number == 0 ? 0 : 200));
  return pixels;
}

inline std::string class_png(int number, int image) {
  return png_file(kImageSide, kImageSide, 3, class_pixels(number, image));
}

inline std::string image_name(int image) { return (image < 10 ? "0" : "") + std::to_string(image) + ".png"; }

// 60 PNG files in three folders, and images.toml, which trains on them: 2 ranks, batches of 4, 2 epochs of 8 steps.
struct ImageWorkspace : Workspace {
  ImageWorkspace() {
    for (int number = 0; number < 3; ++number) {
      for (int image = 0; image < kImagesOfClass; ++image)
        write_image("images", number, image, class_png(number, image));
    }
    write("images.toml", text(R"({ type = "RandomCrop", size = 12, padding = 2 }, { type = "RandomHorizontalFlip" })"));
  }

  void write_image(const std::string& folder, int number, int image, const std::string& bytes) const {
    const auto name =
        std::filesystem::path(folder) / kImageClasses[static_cast<std::size_t>(number)] / image_name(image);
    std::filesystem::create_directories((this->folder() / name).parent_path());
    write(name, bytes);
  }

  static std::string text(const std::string& transforms, const std::string& more = "") {
    return "dataset = { name = \"image_folder\", path = \"images\", transforms = [" + transforms + "]" + more + R"( }
loss = "cross_entropy"
optimizer = { name = "sgd", lr = 0.05 }
device_pool = ["cpu", "cpu"]
batch_size = 4
threads = 1
epochs = 2
[model]
name = "sequential"
layers = [{ type = "Flatten" }, { type = "Linear", in_features = 432, out_features = 3 }]
)";
  }
};

// Runs images.toml with these settings; it must end well.
inline Outcome trained_images(const Workspace& w, const Words& sets) {
  return w.done(with_sets({"run", "images.toml"}, sets));
}

}  // namespace ddp::system_test
