#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <utility>

#include <ATen/ops/max.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "datasets/files.h"
#include "datasets/image/image_set.h"
#include "datasets/image/image_source.h"
#include "datasets/image/listing.h"
#include "record/file/input_file.h"

namespace ddp::datasets {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLongestTarget = 64;  // bytes of a class as text
constexpr std::int64_t kMostTarClasses = 1'000'000;

struct TarOptions : ImageOptions {
  config::Value path;
  std::string image = "jpg;jpeg;png;webp";
  std::string target = "cls";
  OnBadOption on_bad;
  void fields(config::Fields& f) {
    f(path_option("shard (.tar, not compressed), a glob, or a list of these"), path);
    f({.name = "image", .doc = "endings of the name of a sample's image, in the order of preference"}, image);
    f({.name = "target", .doc = "endings of the name of its class, which is a whole number in digits"}, target);
    ImageOptions::fields(f);
    on_bad.fields(f);
  }
};

// The samples of all shards, as columns. The columns are tensors, which ranks can share.
struct ShardSamples {
  NameList shards;
  NameList names;     // of the images' members
  at::Tensor places;  // int64 [n, 3]: number of the shard, offset of the image, size of the image
  at::Tensor targets;
  std::vector<std::string> classes;
};

// Reads the image of a sample at its place in a shard.
class ShardSource final : public ImageSource {
 public:
  explicit ShardSource(ShardSamples samples) : s_(std::move(samples)) {}

  std::int64_t size() const override { return s_.places.size(0); }
  Image open(std::int64_t sample, OpenFile& memory) const override {
    const auto* place = s_.places.const_data_ptr<std::int64_t>() + 3 * sample;
    const std::string shown = name(sample);
    memory.file.reset();
    memory.bytes.resize(static_cast<std::size_t>(place[2]));
    try {
      const record::InputFile in{fs::path(s_.shards[place[0]])};
      in.read(static_cast<std::uint64_t>(place[1]), memory.bytes.data(), memory.bytes.size());
    } catch (const Error& error) {
      throw usage_error(error.summary(), shown, error.remedy());
    }
    memory.file = format::open_image(memory.bytes, shown);
    return Image(*memory.file);
  }
  std::string name(std::int64_t sample) const override {
    const auto* place = s_.places.const_data_ptr<std::int64_t>() + 3 * sample;
    return std::string(s_.shards[place[0]]) + ", " + std::string(s_.names[sample]);
  }
  const at::Tensor& targets() const override { return s_.targets; }
  const std::vector<std::string>& classes() const override { return s_.classes; }
  bool in_memory() const override { return false; }
  NamedTensors held() const override {
    NamedTensors all{{"shards", s_.shards.bytes()},
                     {"shard_ends", s_.shards.ends()},
                     {"names", s_.names.bytes()},
                     {"name_ends", s_.names.ends()},
                     {"places", s_.places}};
    if (s_.targets.defined()) all.emplace_back("targets", s_.targets);
    return all;
  }

 private:
  const ShardSamples s_;
};

std::vector<std::string> field_names(const std::string& option, const char* key) {
  std::vector<std::string> names;
  std::istringstream text(option);
  for (std::string name; std::getline(text, name, ';');) {
    if (!name.empty()) names.push_back(name);
  }
  if (names.empty()) throw usage_error("is empty", key);
  return names;
}

std::int64_t read_target(const record::InputFile& shard, const TarSample& sample, const std::string& shown) {
  std::string text(static_cast<std::size_t>(std::min(sample.target_size, kLongestTarget)), '\0');
  shard.read(static_cast<std::uint64_t>(sample.target_offset), text.data(), text.size());
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::size_t last = text.find_last_not_of(kBlanks);
  const char* const end = text.data() + (last == std::string::npos ? begin : last + 1);
  std::int64_t target = -1;
  const auto [rest, error] = std::from_chars(text.data() + begin, end, target);
  if (error == std::errc{} && rest == end && sample.target_size <= kLongestTarget && target >= 0 &&
      target < kMostTarClasses) {
    return target;
  }
  throw usage_error("the class of the sample with " + sample.name + " is not a whole number below a million", shown,
                    "see dataset.target");
}

// The columns of all shards' samples during the listing.
struct Columns {
  std::vector<std::string> names;
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> targets;
};

void add_shard(const TarOptions& o, const fs::path& shard, std::int64_t number, bool with_targets, Columns& columns) {
  const auto samples = samples_of(members_of(shard), field_names(o.image, "dataset.image"),
                                  field_names(o.target, "dataset.target"), with_targets, shard.string());
  try {
    const record::InputFile in(shard);
    for (const TarSample& sample : samples) {
      columns.names.push_back(sample.name);
      columns.places.insert(columns.places.end(), {number, sample.offset, sample.size});
      if (with_targets) columns.targets.push_back(read_target(in, sample, shard.string()));
    }
  } catch (const Error& error) {
    throw usage_error(error.summary(), error.where(), error.remedy());
  }
}

ShardSamples listed_shards(const TarOptions& o, const Context& context) {
  const std::vector<fs::path> shards = files_of(o.path, "dataset.path", {".tar"});
  const bool with_targets = context.role != Role::prediction;
  Columns columns;
  std::vector<std::string> shard_names;
  for (const fs::path& shard : shards) {
    add_shard(o, shard, std::ssize(shard_names), with_targets, columns);
    shard_names.push_back(shard.string());
  }
  if (columns.names.empty()) {
    throw usage_error("holds no image", files_in_words(shards),
                      "a sample consists of members such as 000017.jpg and 000017.cls, its class");
  }
  ShardSamples samples{.shards = NameList(shard_names),
                       .names = NameList(columns.names),
                       .places = at::tensor(columns.places, at::kLong).view({-1, 3}),
                       .targets = with_targets ? at::tensor(columns.targets, at::kLong) : at::Tensor(),
                       .classes = classes_of_training(context)};
  if (samples.classes.empty() && with_targets) {
    samples.classes = numbered_classes(samples.targets.max().item<std::int64_t>() + 1);
  }
  if (with_targets) require_classes(samples.targets, std::ssize(samples.classes), files_in_words(shards));
  return samples;
}

ShardSamples held_shards(const Context& context) {
  const NamedTensors& held = context.held;
  return {.shards = NameList(held_tensor(held, "shards"), held_tensor(held, "shard_ends")),
          .names = NameList(held_tensor(held, "names"), held_tensor(held, "name_ends")),
          .places = held_tensor(held, "places"),
          .targets = held_tensor(held, "targets"),
          .classes = classes_of_training(context)};
}

std::unique_ptr<Dataset> make_tar(const TarOptions& o, const Context& context) {
  ShardSamples samples = context.held.empty() ? listed_shards(o, context) : held_shards(context);
  return std::make_unique<ImageSet>(std::make_shared<ShardSource>(std::move(samples)),
                                    treatment_of(o, context, o.on_bad.skips()));
}

const bool tar_registered = registry().add<TarOptions>(
    "tar", "JPEG, PNG and WebP files in tar archives: the shards of a WebDataset", make_tar,
    {{"loss", "cross_entropy"}, {"held", true}, {"library", "images"}, {"predicts_from", "path"}});

}  // namespace
}  // namespace ddp::datasets
