#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>

#include <ATen/ops/max.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "base/recent.h"
#include "datasets/files.h"
#include "datasets/image/image_set.h"
#include "datasets/image/image_source.h"
#include "datasets/image/listing.h"

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

// The bytes of a block of a stream, from the first of its images to the last one.
class BlockBytes final : public format::Bytes {
 public:
  BlockBytes(const format::Bytes& file, std::int64_t begin, std::int64_t size)
      : begin_(begin), bytes_(static_cast<std::size_t>(size), '\0') {
    try {
      file.read(begin, size, bytes_.data());
    } catch (const Error& error) {  // no fault of an image
      throw training_error(error.summary(), error.where(), error.remedy());
    }
  }
  std::int64_t size() const override { return begin_ + std::ssize(bytes_); }
  std::string identity() const override { return ""; }
  void read(std::int64_t begin, std::int64_t size, void* out) const override {
    std::memcpy(out, bytes_.data() + (begin - begin_), static_cast<std::size_t>(size));
  }

 private:
  const std::int64_t begin_;  // in the file
  std::string bytes_;
};

// Images at their places in shards. The columns are tensors, which ranks can share.
class ShardSource final : public ImageSource {
 public:
  // `names`: of the images' members. `places`: int64 [n, 3], the number of the shard, and the image's offset and size.
  ShardSource(NameList shards, NameList names, at::Tensor places, at::Tensor targets, std::vector<std::string> classes,
              const Context& context)
      : ImageSource(std::move(targets), std::move(classes)),
        shards_(std::move(shards)),
        names_(std::move(names)),
        places_(std::move(places)),
        open_(context.open),
        recent_(static_cast<std::size_t>(context.window) + 1) {
    if (context.window > 0 && context.role != Role::prediction) find_blocks();
  }

  std::int64_t size() const override { return places_.size(0); }
  std::vector<std::int64_t> block_begins() const override { return begins_; }
  std::int64_t block_bytes() const override {
    std::int64_t most = 0;
    for (std::size_t i = 0; i + 1 < begins_.size(); ++i)
      most = std::max(most, span_of(begins_[i], begins_[i + 1]).size);
    return most;
  }
  Image open(std::int64_t sample, OpenFile& memory) const override {
    const Place place = place_of(sample);
    if (begins_.empty()) {
      return read_image(*open_(shards_[place.shard]), name(sample), memory, place.offset, place.size);
    }
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), sample);
    const auto bytes = recent_.get(*std::prev(after), [&](std::int64_t first) {
      const Place span = span_of(first, *after);
      return std::make_shared<const BlockBytes>(*open_(shards_[span.shard]), span.offset, span.size);
    });
    return read_image(*bytes, name(sample), memory, place.offset, place.size);
  }
  std::string name(std::int64_t sample) const override {
    return std::string(shards_[place_of(sample).shard]) + ", " + std::string(names_[sample]);
  }

 private:
  struct Place {
    std::int64_t shard, offset, size;
  };
  Place place_of(std::int64_t sample) const {
    const auto* place = places_.const_data_ptr<std::int64_t>() + 3 * sample;
    return {.shard = place[0], .offset = place[1], .size = place[2]};
  }

  // The part of a shard with these images.
  Place span_of(std::int64_t first, std::int64_t end) const {
    const Place begin = place_of(first), last = place_of(end - 1);
    return {.shard = begin.shard, .offset = begin.offset, .size = last.offset + last.size - begin.offset};
  }

  // Consecutive images of a shard in at most 4 MiB, or one larger image.
  void find_blocks() {
    constexpr std::int64_t kMostBytes = 4 << 20;
    Place first{.shard = -1, .offset = 0, .size = 0};
    for (std::int64_t i = 0; i < size(); ++i) {
      const Place place = place_of(i);
      if (place.shard == first.shard && place.offset + place.size - first.offset <= kMostBytes) continue;
      first = place;
      begins_.push_back(i);
    }
    begins_.push_back(size());
  }

  NamedTensors held_images() const override {
    return {{"shards", shards_.bytes()},
            {"shard_ends", shards_.ends()},
            {"names", names_.bytes()},
            {"name_ends", names_.ends()},
            {"places", places_}};
  }

  const NameList shards_;
  const NameList names_;
  const at::Tensor places_;
  const format::OpenBytes open_;
  std::vector<std::int64_t> begins_;  // of the blocks of a stream, in samples
  mutable Recent<std::int64_t, format::Bytes> recent_;
};

using SharedShards = std::shared_ptr<const ShardSource>;

std::vector<std::string> field_names(const std::string& option, const char* key) {
  std::vector<std::string> names;
  std::istringstream text(option);
  for (std::string name; std::getline(text, name, ';');) {
    if (!name.empty()) names.push_back(name);
  }
  if (names.empty()) throw usage_error("is empty", key);
  return names;
}

std::int64_t read_target(const format::Bytes& shard, const TarSample& sample, const std::string& shown) {
  std::string text(static_cast<std::size_t>(std::min(sample.target_size, kLongestTarget)), '\0');
  shard.read(sample.target_offset, std::ssize(text), text.data());
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

void add_shard(const TarOptions& o, const fs::path& shard, const format::Bytes& bytes, std::int64_t number,
               bool with_targets, Columns& columns) {
  const auto samples = samples_of(members_of(shard, bytes), field_names(o.image, "dataset.image"),
                                  field_names(o.target, "dataset.target"), with_targets, shard.string());
  for (const TarSample& sample : samples) {
    columns.names.push_back(sample.name);
    columns.places.insert(columns.places.end(), {number, sample.offset, sample.size});
    if (with_targets) columns.targets.push_back(read_target(bytes, sample, shard.string()));
  }
}

SharedShards listed_shards(const TarOptions& o, const Context& context) {
  const std::vector<fs::path> shards = files_of(o.path, "dataset.path", {".tar"});
  const bool with_targets = context.role != Role::prediction;
  Columns columns;
  std::vector<std::string> shard_names;
  for (const fs::path& shard : shards) {
    add_shard(o, shard, *context.open(shard), std::ssize(shard_names), with_targets, columns);
    shard_names.push_back(shard.string());
  }
  if (columns.names.empty()) {
    throw usage_error("holds no image", files_in_words(shards),
                      "a sample consists of members such as 000017.jpg and 000017.cls, its class");
  }
  const at::Tensor targets = with_targets ? at::tensor(columns.targets, at::kLong) : at::Tensor();
  std::vector<std::string> classes = classes_of_training(context);
  if (classes.empty() && with_targets) classes = numbered_classes(targets.max().item<std::int64_t>() + 1);
  if (with_targets) require_classes(targets, std::ssize(classes), files_in_words(shards));
  return std::make_shared<ShardSource>(NameList(shard_names), NameList(columns.names),
                                       at::tensor(columns.places, at::kLong).view({-1, 3}), targets, std::move(classes),
                                       context);
}

SharedShards held_shards(const Context& context) {
  const auto held = [&](const char* name) { return tensor_named(name, context.held); };
  return std::make_shared<ShardSource>(NameList(held("shards"), held("shard_ends")),
                                       NameList(held("names"), held("name_ends")), held("places"), held("targets"),
                                       classes_of_training(context), context);
}

std::unique_ptr<Dataset> make_tar(const TarOptions& o, const Context& context) {
  return std::make_unique<ImageSet>(context.held.empty() ? listed_shards(o, context) : held_shards(context),
                                    treatment_of(o, context, o.on_bad.skips()));
}

const bool tar_registered = registry().add<TarOptions>(
    "tar", "JPEG, PNG and WebP files in tar archives: the shards of a WebDataset", make_tar,
    {{"loss", "cross_entropy"}, {"held", true}, {"library", "images"}, {"predicts_from", "path"}, {"streams", true}});

}  // namespace
}  // namespace ddp::datasets
