#include "format/idx.h"

#include <ATen/ops/max.h>

#include "base/error.h"
#include "datasets/image/image_set.h"
#include "datasets/image/image_source.h"

namespace ddp::datasets {
namespace {

struct IdxOptions : ImageOptions {
  std::string images;
  std::string labels;
  void fields(config::Fields& f) {
    f({.name = "images",
       .doc = "file of 8-bit images in MNIST's format: train-images-idx3-ubyte, also as .gz",
       .required = true,
       .path = true,
       .urls = true},
      images);
    f({.name = "labels",
       .doc = "file of their classes: train-labels-idx1-ubyte, also as .gz",
       .required = true,
       .path = true,
       .urls = true},
      labels);
    ImageOptions::fields(f);
  }
};

// uint8 [n, c, h, w]
at::Tensor read_idx_images(const std::string& file) {
  at::Tensor images = format::read_idx(file);
  if (images.dim() == 3) images = images.unsqueeze(1);
  if (images.dim() != 4 || (images.size(1) != 1 && images.size(1) != 3)) {
    throw usage_error("holds numbers of shape " + c10::str(images.sizes()) + ", not images", file,
                      "images have the shape [n, height, width] or [n, 3, height, width]");
  }
  if (images.numel() == 0) throw usage_error("holds no image", file);
  return images;
}

// int64 [n]
at::Tensor read_idx_labels(const std::string& file, const std::string& images, std::int64_t count) {
  const at::Tensor labels = format::read_idx(file);
  if (labels.dim() != 1) {
    throw usage_error("holds numbers of shape " + c10::str(labels.sizes()) + ", not labels", file,
                      "labels have the shape [n]");
  }
  if (labels.size(0) != count) {
    throw usage_error("has " + std::to_string(labels.size(0)) + " labels, but " + images + " has " +
                          std::to_string(count) + " images",
                      file, "label i belongs to image i");
  }
  return labels.to(at::kLong);
}

std::unique_ptr<Dataset> make_idx(const IdxOptions& o, const Context& context) {
  std::vector<std::string> classes = classes_of_training(context);
  if (!context.held.empty()) {
    return std::make_unique<ImageSet>(std::make_shared<PixelSource>(context.held, std::move(classes), o.images),
                                      treatment_of(o, context));
  }
  at::Tensor images = read_idx_images(o.images);
  at::Tensor labels;
  if (context.role != Role::prediction) {
    labels = read_idx_labels(o.labels, o.images, images.size(0));
    if (classes.empty()) classes = numbered_classes(labels.max().item<std::int64_t>() + 1);
    require_classes(labels, std::ssize(classes), o.labels);
  }
  return std::make_unique<ImageSet>(
      std::make_shared<PixelSource>(std::move(images), std::move(labels), std::move(classes), o.images),
      treatment_of(o, context));
}

const bool idx_registered =
    registry().add<IdxOptions>("idx", "8-bit images in the format of MNIST's files", make_idx,
                               {{"loss", "cross_entropy"}, {"held", true}, {"predicts_from", "images"}});

}  // namespace
}  // namespace ddp::datasets
