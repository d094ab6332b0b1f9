#include "format/image.h"

#include <exception>
#include <new>
#include <utility>

#include "config/text/source.h"
#include "images/decoders.h"

namespace ddp::images {
namespace {

// Twice Image.MAX_IMAGE_PIXELS: above this, Pillow raises DecompressionBombError.
constexpr std::int64_t kMostPixels = 178'956'970;

// Reports exceptions of the standard library, which a damaged file may cause, as errors of the file.
template <class Call>
auto as_errors(const std::string& name, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw usage_error("needs more memory than is available", name);
  } catch (const std::exception& error) {
    throw damaged(name, error.what());
  }
}

class CheckedImage : public format::ImageFile {
 public:
  CheckedImage(std::string name, std::unique_ptr<format::ImageFile> image)
      : name_(std::move(name)), image_(std::move(image)) {}

  format::ImageSize size() const override { return image_->size(); }
  void decode(const format::Rectangle& part, std::uint8_t* pixels) const override {
    as_errors(name_, [&] { image_->decode(part, pixels); });
  }
  void decode_rows(const format::Rectangle& part, const UseRows& use) const override {
    as_errors(name_, [&] { image_->decode_rows(part, use); });
  }

 private:
  const std::string name_;
  const std::unique_ptr<format::ImageFile> image_;
};

std::unique_ptr<format::ImageFile> open(std::span<const std::byte> bytes, const std::string& name) {
  if (is_jpeg(bytes)) return open_jpeg(bytes, name);
  if (is_png(bytes)) return open_png(bytes, name);
  if (is_webp(bytes)) return open_webp(bytes, name);
  if (bytes.empty()) throw usage_error("is empty", name);
  throw usage_error("is not a JPEG, PNG or WebP image", name);
}

}  // namespace

Error damaged(const std::string& name, const std::string& why) {
  return usage_error("is damaged: " + config::printable(why), name);
}

Error truncated(const std::string& name) { return usage_error("is truncated: it ends before the image does", name); }

Error unsupported(const std::string& name, const std::string& kind, const std::string& remedy) {
  return usage_error("is " + kind + ", which is not supported", name, remedy);
}

void check_size(const std::string& name, const format::ImageSize& size) {
  if (size.height < 1 || size.width < 1) throw damaged(name, "it has no pixels");
  if (size.width > kMostPixels / size.height) {
    throw usage_error("claims " + std::to_string(size.width) + "x" + std::to_string(size.height) +
                          " pixels; the limit is " + std::to_string(kMostPixels) + " pixels",
                      name, "make it smaller");
  }
}

}  // namespace ddp::images

ddp::format::ImageFile* ddp_open_image(const std::span<const std::byte>* bytes, const std::string* name) {
  using ddp::images::CheckedImage;
  return ddp::images::as_errors(
      *name, [&] { return std::make_unique<CheckedImage>(*name, ddp::images::open(*bytes, *name)).release(); });
}

void ddp_list_tar(const ddp::format::Bytes* file, const std::string* name,
                  std::vector<ddp::format::TarMember>* members) {
  ddp::images::as_errors(*name, [&] { *members = ddp::images::list_tar(*file, *name); });
}
