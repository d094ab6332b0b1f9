#include "rank/trained_images.h"

#include <cstdint>
#include <exception>

#include <ATen/ops/arange.h>

#include "base/error.h"
#include "base/shell_word.h"
#include "config/load.h"
#include "config/text/to_toml.h"
#include "data/sets.h"
#include "record/run_directory.h"

namespace ddp::rank {
namespace {

constexpr const char* kImageTransforms = "transforms";

// "[12, 16]": height and width, as the transform Resize takes them.
std::string size_in_words(std::int64_t height, std::int64_t width) {
  return "[" + std::to_string(height) + ", " + std::to_string(width) + "]";
}

// Returns the assignment of the transforms that the run measured with, after one that resizes the image.
std::string resizing(const std::string& dataset, const config::Value& transforms, const std::string& size) {
  std::string items = "{type=\"Resize\",size=" + size + "}";
  for (const config::Value& one : transforms) items += ", " + config::inline_toml(one);
  return "--set " + shell_word(dataset + ".transforms=[" + items + "]");
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
  return "the run trained with images of [height, width] = " + size + ": resize the others with " +
         resizing(dataset, trained.transforms, size);
} catch (const std::exception&) {
  return "give images of the size of the training, or resize them with its height and width: " +
         resizing(dataset, config::Value::array(), "[HEIGHT,WIDTH]");
}

}  // namespace ddp::rank
