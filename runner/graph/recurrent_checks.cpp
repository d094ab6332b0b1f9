#include <cstdint>
#include <string>
#include <vector>

#include "graph/argument_rules.h"

namespace ddp::graph {
namespace {

using Shape = std::vector<std::int64_t>;

// The limit of layers in one call. Each layer has its own parameters, so real models have far fewer.
constexpr std::int64_t kMostLayers = 1 << 16;

std::string text_of(const Shape& shape) { return c10::str(at::IntArrayRef(shape)); }

// The arguments of aten::lstm, gru, rnn_tanh and rnn_relu, in the order of the rules below.
class RecurrentLayers {
 public:
  enum Argument : std::size_t {
    input,
    data,
    batch_sizes,
    hx,
    params,
    has_biases,
    num_layers,
    bidirectional,
    batch_first
  };

  RecurrentLayers(const CheckedArguments& arguments, std::int64_t gates) : given_(arguments), gates_(gates) {}

  void require() {
    is_packed_ = given_.has(data);
    layers_ = given_.number(num_layers);
    given_.require(layers_ >= 1 && layers_ <= kMostLayers, num_layers, "must be 1 or more");
    directions_ = given_.flag(bidirectional) ? 2 : 1;
    is_packed_ ? require_packed() : require_padded();
    require_states();
    require_parameters();
  }

 private:
  void require_padded() {
    const at::Tensor& tensor = given_.tensor(input);
    given_.require(tensor.dim() == 3, input, "must have 3 dimensions");
    const bool begins_with_batch = given_.flag(batch_first);
    batch_ = tensor.size(begins_with_batch ? 0 : 1);
    given_.require(tensor.size(begins_with_batch ? 1 : 0) > 0, input, "must have at least one step");
    features_ = tensor.size(2);
  }

  // Packed sequences: the rows of all steps, step by step; each step has one row for each sequence that is long enough.
  void require_packed() {
    const at::Tensor& rows = given_.tensor(data);
    given_.require(rows.dim() == 2, data, "must have 2 dimensions");
    features_ = rows.size(1);
    const at::Tensor& sizes = given_.tensor(batch_sizes);
    given_.require(sizes.dim() == 1 && sizes.scalar_type() == at::kLong && sizes.numel() > 0 &&
                       sizes.device().is_cpu() && sizes.is_contiguous(),
                   batch_sizes, "must be a list of whole numbers on the CPU");
    const auto* begin = sizes.const_data_ptr<std::int64_t>();
    std::int64_t sum = 0;
    for (std::int64_t step = 0; step < sizes.numel(); ++step) {
      given_.require(begin[step] > 0 && begin[step] <= rows.size(0), batch_sizes, "must hold positive numbers of rows");
      given_.require(step == 0 || begin[step] <= begin[step - 1], batch_sizes, "must not grow");
      sum += begin[step];
      given_.require(sum <= rows.size(0), batch_sizes, "must add up to the rows of `data`");
    }
    given_.require(sum == rows.size(0), batch_sizes, "must add up to the rows of `data`");
    batch_ = begin[0];
  }

  // The initial states, [layers * directions, batch, features]: one tensor, or two for LSTM.
  void require_states() {
    const std::vector<at::Tensor> states = given_.tensors(hx);
    given_.require(states.size() == (gates_ == 4 ? 2 : 1), hx, "must hold the initial states: 1 tensor, or 2 for LSTM");
    for (const at::Tensor& state : states) {
      if (state.dim() != 3 || state.size(0) != layers_ * directions_ || state.size(1) != batch_) {
        given_.refuse(hx, "must be of shape " + text_of({layers_ * directions_, batch_}) + " and its features, not " +
                              c10::str(state.sizes()));
      }
    }
    outputs_ = states.front().size(2);
    cells_ = states.back().size(2);
    given_.require(outputs_ > 0 && cells_ > 0, hx, "must have at least one feature");
  }

  // All parameters of a layer and direction, in this order: [weights of inputs, weights of outputs, two biases, and the
  // weights of LSTM's projection if it has one].
  void require_parameters() {
    std::vector<Shape> wanted;
    const std::vector<at::Tensor> given = given_.tensors(params);
    const bool has_bias = given_.flag(has_biases);
    const bool has_projection = outputs_ != cells_;
    const auto each = static_cast<std::int64_t>(2 + (has_bias ? 2 : 0) + (has_projection ? 1 : 0));
    if (static_cast<std::int64_t>(given.size()) != layers_ * directions_ * each) {
      given_.refuse(params, "must hold " + std::to_string(layers_ * directions_ * each) + " tensors, not " +
                                std::to_string(given.size()));
    }
    std::size_t at = 0;
    const auto require_shape = [&](const Shape& shape) {
      const at::Tensor& tensor = given[at];
      if (tensor.sizes() != at::IntArrayRef(shape)) {
        given_.refuse(params, "must be of shape " + text_of(shape) + " at " + std::to_string(at) + ", not " +
                                  c10::str(tensor.sizes()));
      }
      ++at;
    };
    const std::int64_t rows = gates_ * cells_;
    for (std::int64_t i = 0; i < layers_ * directions_; ++i) {
      require_shape({rows, i < directions_ ? features_ : outputs_ * directions_});
      require_shape({rows, outputs_});
      if (has_bias) require_shape({rows});
      if (has_bias) require_shape({rows});
      if (has_projection) require_shape({outputs_, cells_});
    }
  }

  const CheckedArguments& given_;
  const std::int64_t gates_;
  bool is_packed_ = false;
  std::int64_t layers_ = 0;
  std::int64_t directions_ = 0;
  std::int64_t batch_ = 0;
  std::int64_t features_ = 0;  // of the inputs
  std::int64_t outputs_ = 0;   // features of the outputs
  std::int64_t cells_ = 0;     // features of LSTM's cells; otherwise of the outputs
};

const std::vector<std::string_view> kLayerArguments = {
    "input", "data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "bidirectional", "batch_first"};

template <std::int64_t gates>
void check_layers(const CheckedArguments& arguments) {
  RecurrentLayers(arguments, gates).require();
}

}  // namespace

const std::vector<ArgumentRule>& recurrent_rules() {
  static const std::vector<ArgumentRule> rules = {
      {{"lstm"}, kLayerArguments, check_layers<4>},
      {{"gru"}, kLayerArguments, check_layers<3>},
      {{"rnn_tanh", "rnn_relu"}, kLayerArguments, check_layers<1>},
  };
  return rules;
}

}  // namespace ddp::graph
