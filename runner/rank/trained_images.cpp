#include "rank/trained_images.h"

#include <cstdint>
#include <exception>

#include <ATen/ops/arange.h>

#include "base/error.h"
#include "config/load.h"
#include "data/sets.h"
#include "rank/transforms_setting.h"
#include "record/run_directory.h"

namespace ddp::rank {
namespace {

constexpr const char* kImageTransforms = "transforms";

// "[12, 16]": height and width, as the transform Resize takes them.
std::string size_in_words(std::int64_t height, std::int64_t width) {
  return "[" + std::to_string(height) + ", " + std::to_string(width) + "]";
}

// The images of a run: the size of their files, and the transforms that follow.
struct TrainedImages {
  std::int64_t height = 0;
  std::int64_t width = 0;
  config::Value transforms = config::Value::array();
};

// Reads the first image of the run's data without transforms, whatever --set says now. Throws if the data are gone.
TrainedImages read_images(const Task& t) {
  const auto file = record::RunDirectory(t.run_directory).config();
  config::Experiment e = config::load(file, {}, t.experiment->components()).experiment;
  e.dataset = data::dataset_to_measure(e);
  TrainedImages images{.transforms = e.dataset.options.value(kImageTransforms, config::Value::array())};
  e.dataset.options[kImageTransforms] = config::Value::array();
  e.validation.dataset = {};
  e.test.dataset = {};
  const data::Sets sets = data::build_whole(e, /*rank=*/0, /*world_size=*/1, /*held=*/{}, t.preprocessing);
  const at::Tensor image = sets.test.map()->gather(at::arange(1, at::kLong), /*epoch=*/0).inputs.front().second;
  images.height = image.size(-2);
  images.width = image.size(-1);
  return images;
}

}  // namespace

std::string remedy_for_image_size(const Task& task, const std::string& dataset) try {
  const TrainedImages trained = read_images(task);
  const std::string size = size_in_words(trained.height, trained.width);
  std::vector<std::string> items{resize_item(size)};
  for (const config::Value& one : trained.transforms) items.push_back(transform_item(one));
  return "the run trained with images of [height, width] = " + size + ": resize the others with " +
         transforms_setting(dataset, items);
} catch (const std::exception&) {
  return "give images of the size of the training, or resize them with its height and width: " +
         transforms_setting(dataset, {resize_item("[HEIGHT,WIDTH]")});
}

}  // namespace ddp::rank
