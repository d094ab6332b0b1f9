#include "datasets/transform/arguments.h"
#include "datasets/transform/functional.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

struct PadOptions {
  config::Value padding;
  config::Value fill = 0.0;
  std::string padding_mode = "constant";
  void fields(config::Fields& f) {
    f(padding_option("width of the border in pixels", /*required=*/true), padding);
    f(fill_option(), fill);
    f(padding_mode_option(), padding_mode);
  }
};

class Pad : public PixelTransform {
 public:
  explicit Pad(const PadOptions& o) : border_(border_of(o.padding)), fill_(fill_of(o.fill)), mode_(o.padding_mode) {
    check_padding(fill_, mode_);
  }
  void apply(Image& image, Draws&, const DrawLog&) const override { pad_image(image, border_, fill_, mode_); }

 private:
  const Border border_;
  const std::vector<double> fill_;
  const std::string mode_;
};

const bool pad_registered = transforms().add<PadOptions>("Pad", "adds a border", config::made<Pad>);

}  // namespace
}  // namespace ddp::datasets
