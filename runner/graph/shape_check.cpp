#include "graph/shape_check.h"

#include <algorithm>

#include "base/error.h"
#include "config/text/source.h"

namespace ddp::graph {
namespace {

std::string text_of(const Program::Extent& extent) {
  if (extent.symbol.empty()) return std::to_string(extent.size);
  if (extent.most >= INT64_MAX / 2) return "any";
  return std::to_string(extent.least) + " to " + std::to_string(extent.most);
}

// If the given dimensions are the model's in another order, returns the call that exchanges them. The extents that the
// model leaves open take the places that the others leave.
std::string order_of(const Program::Input& input, const at::Tensor& given) {
  std::vector<std::int64_t> left(static_cast<std::size_t>(given.dim() - 1));
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<std::int64_t>(i) + 1;
  std::vector<std::int64_t> places(input.sizes.size());
  bool is_other = false;
  for (const bool open : {false, true}) {
    for (std::size_t d = 1; d < input.sizes.size(); ++d) {
      const Program::Extent& extent = input.sizes[d];
      if (extent.symbol.empty() == open) continue;
      const auto found = std::find_if(left.begin(), left.end(), [&](std::int64_t place) {
        const std::int64_t size = given.size(place);
        return open ? size >= extent.least && size <= extent.most : size == extent.size;
      });
      if (found == left.end()) return "";
      places[d] = *found;
      is_other = is_other || (!open && places[d] != static_cast<std::int64_t>(d));
      left.erase(found);
    }
  }
  if (!is_other) return "";
  std::string order = "0";
  for (std::size_t d = 1; d < places.size(); ++d) order += ", " + std::to_string(places[d]);
  return "the dimensions are in another order: store the data as x.transpose(" + order +
         ") of NumPy, or export a model whose forward begins with x.permute(" + order + ")";
}

// As plan shows types.
std::string name_of(c10::ScalarType type) {
  return type == c10::kFloat    ? "float32"
         : type == c10::kDouble ? "float64"
         : type == c10::kLong   ? "int64"
                                : c10::toString(type);
}

}  // namespace

ShapeCheck::ShapeCheck(const Program& program)
    : inputs_(program.inputs), file_(program.file), gives_number_(program.gives_number) {}

model::BatchSizes ShapeCheck::batch_sizes() const {
  model::BatchSizes sizes;
  for (const Program::Input& input : inputs_) {
    if (input.sizes.empty()) continue;
    const Program::Extent& batch = input.sizes.front();
    sizes.least = std::max(sizes.least, batch.symbol.empty() ? batch.size : batch.least);
    sizes.most = std::min(sizes.most, batch.symbol.empty() ? batch.size : batch.most);
  }
  return sizes;
}

void ShapeCheck::require(const std::vector<at::Tensor>& given, bool trains) {
  trains_ = trains;
  if (given.size() != inputs_.size()) {
    throw usage_error("the model takes " + std::to_string(inputs_.size()) + " inputs, but " + giver() + " " +
                          std::to_string(given.size()),
                      file_,
                      std::string("name the dataset's inputs in the order of forward's arguments") +
                          (gives_number_ ? "; forward returns one number: if that is a loss, return the logits, for "
                                           "the experiment's `loss` computes it"
                                         : ""));
  }
  symbols_.clear();
  for (std::size_t i = 0; i < given.size(); ++i) require(inputs_[i], given[i]);
}

std::string ShapeCheck::same_inputs() const {
  return trains_ ? "give the inputs as the model takes them (dataset.inputs: in the order of forward's arguments), or "
                   "export it for inputs like the dataset's"
                 : "give the inputs as the model takes them";
}

const char* ShapeCheck::giver() const { return trains_ ? "the dataset gives" : "it gets"; }

void ShapeCheck::require(const Program::Input& input, const at::Tensor& given) {
  std::string remedy;
  if (given.scalar_type() != input.type) remedy = remedy_for_type(input);
  if (const std::string shape = remedy_for_shape(input, given); !shape.empty()) {
    remedy += (remedy.empty() ? "" : "; ") + shape;
  }
  if (!remedy.empty()) refuse(input, given, remedy);
}

std::string ShapeCheck::remedy_for_shape(const Program::Input& input, const at::Tensor& given) {
  if (given.dim() != static_cast<std::int64_t>(input.sizes.size())) {
    return "the numbers of dimensions differ: " + same_inputs();
  }
  for (std::size_t d = 0; d < input.sizes.size(); ++d) {
    const std::int64_t size = given.size(static_cast<std::int64_t>(d));
    if (fits_extent(input.sizes[d], size)) continue;
    const std::string order = d == 0 ? "" : order_of(input, given);
    return order.empty() ? remedy_for_extent(input, d, size) : order;
  }
  return "";
}

bool ShapeCheck::fits_extent(const Program::Extent& extent, std::int64_t size) {
  if (extent.symbol.empty()) return size == extent.size;
  if (size < extent.least || size > extent.most) return false;
  for (const auto& [symbol, value] : symbols_) {
    if (*symbol == extent.symbol) return extent.symbol == "?" || value == size;
  }
  symbols_.emplace_back(&extent.symbol, size);
  return true;
}

std::string ShapeCheck::remedy_for_type(const Program::Input& input) const {
  if (input.type == c10::kDouble) return "datasets give float32: export model.float() with a float32 input";
  return "the types differ: " + same_inputs() +
         (trains_ && c10::isFloatingType(input.type) ? "; dataset.scale makes float32 of whole numbers" : "");
}

std::string ShapeCheck::remedy_for_extent(const Program::Input& input, std::size_t d, std::int64_t size) const {
  if (d == 0) return "export it with dynamic_shapes=({0: torch.export.Dim(\"batch\")},)";
  const Program::Extent& extent = input.sizes[d];
  const std::string what = "dimension " + std::to_string(d) + " is " + std::to_string(size) + " and must be " +
                           text_of(extent) + " (dimension 0 is the batch): ";
  if (input.type != c10::kLong || input.sizes.size() != 2) return what + same_inputs();
  if (trains_) return what + "give inputs of that many tokens; for a text, set dataset.block_size";
  return what + "the model takes texts of " + text_of(extent) + " tokens" +
         (size < extent.size || size < extent.least ? "; `generate` needs a prompt of that many tokens or more" : "");
}

void ShapeCheck::refuse(const Program::Input& input, const at::Tensor& given, const std::string& remedy) const {
  std::string shape;
  for (const auto& extent : input.sizes) shape += (shape.empty() ? "" : ", ") + text_of(extent);
  throw usage_error("the model was exported for an input" +
                        (input.name.empty() ? "" : " " + config::in_quotes(input.name)) + " of shape [" + shape +
                        "] and type " + name_of(input.type) + ", but " + giver() + " " + c10::str(given.sizes()) +
                        " of type " + name_of(given.scalar_type()),
                    file_, remedy);
}

}  // namespace ddp::graph
