#include "format/image_entry.h"

#include <exception>
#include <new>
#include <utility>

#include "base/error.h"
#include "images/image_error.h"
#include "images/jpeg.h"
#include "images/png.h"
#include "images/tar.h"
#include "images/webp.h"

namespace ddp::images {
namespace {

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
}  // namespace ddp::images

ddp::format::ImageFile* ddp_open_image(const std::span<const std::byte>* bytes, const std::string* name) {
  using ddp::images::CheckedImage;
  return ddp::images::as_errors(
      *name, [&] { return std::make_unique<CheckedImage>(*name, ddp::images::open(*bytes, *name)).release(); });
}

void ddp_list_tar(const std::filesystem::path* file, std::vector<ddp::format::TarMember>* members) {
  ddp::images::as_errors(file->string(), [&] { *members = ddp::images::list_tar(*file); });
}
