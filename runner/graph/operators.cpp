#include "graph/operators.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_set>

namespace ddp::graph {
namespace {

// The allowed operators by topic. The in-place operator "name_" is allowed if "name" is. The list omits operators whose
// kernels trust shapes and indices and that models do not need: native_batch_norm (batch_norm checks), the kernels
// behind scaled_dot_product_attention, ctc_loss.
constexpr const char* kAllowed =
    // Element-wise.
    " abs absolute acos acosh add addcdiv addcmul angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh"
    " atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp"
    " clamp_max clamp_min clip copysign cos cosh deg2rad digamma div divide eq erf erfc erfinv exp exp2 expm1 fix"
    " float_power floor floor_divide fmax fmin fmod frac frexp gcd ge greater greater_equal gt heaviside hypot i0 "
    "igamma"
    " igammac isclose isfinite isin isinf isnan isneginf isposinf lcm ldexp le lerp less less_equal lgamma log log10"
    " log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt maximum minimum mul"
    " multiply mvlgamma nan_to_num ne neg negative nextafter not_equal polygamma positive pow rad2deg reciprocal"
    " remainder round rsqrt rsub sgn sigmoid sign signbit sin sinc sinh sqrt square sub subtract tan tanh true_divide"
    " trunc where xlogy __and__ __or__ __xor__ __lshift__ __rshift__ __iand__ __ior__ __ixor__ special_digamma"
    " special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1"
    " special_gammainc special_gammaincc special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p"
    " special_log_ndtr special_logit special_multigammaln special_ndtr special_ndtri special_polygamma special_psi"
    " special_round special_sinc special_xlog1py special_xlogy special_zeta"
    // Activations.
    " celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_sigmoid log_softmax _log_softmax mish"
    " prelu _prelu_kernel relu relu6 rrelu selu silu softmax _softmax _safe_softmax softplus softshrink"
    " special_log_softmax special_softmax threshold"
    // Reductions and sorting.
    " all allclose amax amin aminmax any argmax argmin argsort bincount count_nonzero cummax cummin cumprod cumsum dist"
    " equal histc kthvalue logcumsumexp logsumexp max mean median min mode msort nanmean nanmedian nanquantile nansum"
    " norm nuclear_norm frobenius_norm prod quantile renorm sort special_logsumexp std std_mean sum sum_to_size topk"
    " trace unique_consecutive unique_dim _unique2 var var_mean"
    // Matrix products and linear algebra.
    " addbmm addmm addmv addr baddbmm bilinear _trilinear bmm cdist _cdist_forward _euclidean_dist chain_matmul "
    "cholesky"
    " cholesky_inverse cholesky_solve corrcoef cosine_similarity cov cross det dot einsum ger inner inverse kron"
    " linalg_cholesky linalg_cholesky_ex linalg_cond linalg_cross linalg_det linalg_diagonal linalg_eigh"
    " linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lu linalg_lu_factor linalg_lu_solve"
    " linalg_matmul linalg_matrix_exp linalg_matrix_norm linalg_matrix_power linalg_multi_dot linalg_norm linalg_pinv"
    " linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals"
    " linalg_vander linalg_vecdot linalg_vector_norm linear logdet lu_solve matmul matrix_exp matrix_power mm mv outer"
    " pairwise_distance pdist slogdet tensordot triangular_solve vander vdot"
    // Layers.
    " adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d"
    " adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d alpha_dropout avg_pool1d avg_pool2d avg_pool3d"
    " batch_norm channel_shuffle native_channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d"
    " conv_transpose3d convolution _convolution dropout native_dropout embedding embedding_bag feature_alpha_dropout"
    " feature_dropout group_norm native_group_norm gru gru_cell instance_norm layer_norm native_layer_norm lstm "
    "lstm_cell"
    " max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices"
    " max_unpool2d max_unpool3d one_hot"
    " pixel_shuffle pixel_unshuffle rms_norm _fused_rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell"
    " scaled_dot_product_attention _scaled_dot_product_attention_math"
    " _weight_norm _weight_norm_interface"
    // Images.
    " affine_grid_generator col2im grid_sampler grid_sampler_2d grid_sampler_3d im2col upsample_bicubic2d"
    " upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d"
    " upsample_trilinear3d _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d"
    " _upsample_nearest_exact2d _upsample_nearest_exact3d"
    // Losses.
    " binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy_loss"
    " hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss"
    " multilabel_margin_loss nll_loss nll_loss2d nll_loss_nd poisson_nll_loss smooth_l1_loss soft_margin_loss"
    " triplet_margin_loss"
    // Shapes.
    " adjoint alias as_strided atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors broadcast_to "
    "cartesian_prod"
    " cat chunk clone column_stack combinations concat concatenate constant_pad_nd contiguous detach detach_ diag"
    " diag_embed diagflat diagonal diagonal_scatter dsplit dstack expand expand_as flatten flip fliplr flipud hsplit"
    " hstack meshgrid moveaxis movedim mH mT matrix_H narrow numpy_T pad _pad_circular _pad_enum permute ravel"
    " reflection_pad1d reflection_pad2d reflection_pad3d repeat repeat_interleave replication_pad1d replication_pad2d"
    " replication_pad3d reshape reshape_as resolve_conj resolve_neg roll rot90 select select_scatter slice "
    "slice_scatter"
    " split split_with_sizes squeeze stack swapaxes swapdims t tensor_split tile transpose tril triu unbind unflatten"
    " unfold unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze _unsafe_view view view_as vsplit vstack"
    // Indexing by other tensors.
    " bucketize diff gather index index_add index_copy index_fill index_put index_reduce index_select masked_fill"
    " masked_scatter masked_select nonzero nonzero_numpy nonzero_static scatter scatter_add scatter_reduce searchsorted"
    " take take_along_dim argwhere"
    // New tensors and type conversions.
    " _to_copy arange copy empty empty_like eye fill full full_like lift_fresh lift_fresh_copy linspace logspace "
    "new_empty"
    " new_full new_ones new_zeros ones ones_like scalar_tensor to type_as zero zeros zeros_like bartlett_window"
    " blackman_window hamming_window hann_window kaiser_window tril_indices triu_indices trapezoid"
    // Fourier transforms and complex numbers.
    " complex conj conj_physical _conj _conj_physical fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_ifft"
    " fft_ifft2 fft_ifftn fft_ifftshift fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn imag"
    " istft polar real stft view_as_complex view_as_real"
    // Random numbers.
    " bernoulli cauchy exponential geometric log_normal multinomial normal poisson rand rand_like randint randint_like"
    " randn randn_like random randperm uniform"
    // Assertions of the Python model.
    " _assert_async _assert_scalar _assert_tensor_metadata sym_constrain_range sym_constrain_range_for_size is_nonzero"
    // Properties of tensors, as numbers.
    " sym_numel sym_size sym_storage_offset sym_stride ";

constexpr const char* kDraw =
    " bernoulli cauchy exponential geometric log_normal multinomial normal poisson rand rand_like randint randint_like"
    " randn randn_like random randperm uniform ";

constexpr const char* kReshape = " as_strided_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_ ";

using Names = std::unordered_set<std::string>;

Names names_in(std::string_view list) {
  Names names;
  for (std::size_t begin = 1; begin < list.size();) {
    const std::size_t end = std::min(list.find(' ', begin), list.size());
    names.emplace(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

bool holds_operator(const Names& names, std::string_view name) {
  if (names.contains(std::string(name))) return true;
  return name.ends_with('_') && !name.ends_with("__") && names.contains(std::string(name.substr(0, name.size() - 1)));
}

}  // namespace

bool is_allowed(std::string_view name) {
  static const Names names = names_in(kAllowed);
  return holds_operator(names, name);
}

bool draws(std::string_view name) {
  static const Names names = names_in(kDraw);
  return holds_operator(names, name);
}

bool reshapes_in_place(std::string_view name) {
  static const Names names = names_in(kReshape);
  return names.contains(std::string(name));
}

namespace {

using c10::IValue;

// A truth value counts as 0 or 1 in sums.
std::int64_t whole(const IValue& value) {
  return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}
double real(const IValue& value) { return value.isDouble() ? value.toDouble() : static_cast<double>(whole(value)); }

[[noreturn]] void too_large() { throw std::runtime_error("a size is too large"); }

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) too_large();
  return result;
}

std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) too_large();
  return result;
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) too_large();
  return result;
}

// Rounds towards minus infinity, as Python does.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) throw std::runtime_error("a size is divided by zero");
  if (b == -1) return product(a, -1);
  return a / b - static_cast<std::int64_t>(a % b != 0 && (a % b < 0) != (b < 0));
}

std::int64_t modulo(std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a - floor_quotient(a, b) * b; }

double divide(double a, double b) {
  if (b == 0) throw std::runtime_error("a size is divided by zero");
  return a / b;
}

IValue power(const IValue& base, const IValue& exponent) {
  if (base.isDouble() || exponent.isDouble() || whole(exponent) < 0) return std::pow(real(base), real(exponent));
  std::int64_t result = 1;
  std::int64_t square = whole(base);
  for (std::int64_t rest = whole(exponent); rest > 0; rest /= 2) {
    if (rest % 2 == 1) result = product(result, square);
    if (rest > 1) square = product(square, square);
  }
  return result;
}

std::int64_t rounded(double value) {
  if (!(std::fabs(value) < 0x1p62)) too_large();
  return static_cast<std::int64_t>(value);
}

// The arguments of a function. Throws if the graph gives too few.
class Given {
 public:
  explicit Given(const std::vector<IValue>& arguments) : arguments_(arguments) {}

  const IValue& operator[](std::size_t i) const {
    if (i >= arguments_.size()) throw std::runtime_error("a number is missing");
    return arguments_[i];
  }
  double real_at(std::size_t i) const { return real((*this)[i]); }

  // Applies `of_whole` to two integers, and `of_real` if one of them is a float.
  template <class Whole, class Real>
  IValue apply(Whole of_whole, Real of_real) const {
    const IValue& a = (*this)[0];
    const IValue& b = (*this)[1];
    if (a.isDouble() || b.isDouble()) return of_real(real(a), real(b));
    return of_whole(whole(a), whole(b));
  }

 private:
  const std::vector<IValue>& arguments_;
};

// Makes a function of the list's form from a function of Given.
template <class Function>
constexpr CallList::Arithmetic of_given(Function) {
  return [](const std::vector<IValue>& arguments) -> IValue { return Function()(Given(arguments)); };
}

const std::map<std::string, CallList::Arithmetic, std::less<>>& functions() {
  static const std::map<std::string, CallList::Arithmetic, std::less<>> all = {
      {"_operator.add", of_given([](const Given& a) { return a.apply(sum, std::plus<double>()); })},
      {"_operator.sub", of_given([](const Given& a) { return a.apply(difference, std::minus<double>()); })},
      {"_operator.mul", of_given([](const Given& a) { return a.apply(product, std::multiplies<double>()); })},
      {"_operator.floordiv", of_given([](const Given& given) {
         return given.apply(floor_quotient, [](double a, double b) { return std::floor(a / b); });
       })},
      {"_operator.mod", of_given([](const Given& given) {
         return given.apply(modulo, [](double a, double b) { return a - std::floor(a / b) * b; });
       })},
      {"_operator.truediv", of_given([](const Given& a) { return divide(a.real_at(0), a.real_at(1)); })},
      {"_operator.pow", of_given([](const Given& a) { return power(a[0], a[1]); })},
      {"_operator.neg", of_given([](const Given& a) {
         return a[0].isDouble() ? IValue(-a[0].toDouble()) : IValue(product(whole(a[0]), -1));
       })},
      {"_operator.eq", of_given([](const Given& a) { return a.real_at(0) == a.real_at(1); })},
      {"_operator.ne", of_given([](const Given& a) { return a.real_at(0) != a.real_at(1); })},
      {"_operator.lt", of_given([](const Given& a) { return a.real_at(0) < a.real_at(1); })},
      {"_operator.le", of_given([](const Given& a) { return a.real_at(0) <= a.real_at(1); })},
      {"_operator.gt", of_given([](const Given& a) { return a.real_at(0) > a.real_at(1); })},
      {"_operator.ge", of_given([](const Given& a) { return a.real_at(0) >= a.real_at(1); })},
      {"_operator.and_", of_given([](const Given& a) { return a.real_at(0) != 0 && a.real_at(1) != 0; })},
      {"_operator.or_", of_given([](const Given& a) { return a.real_at(0) != 0 || a.real_at(1) != 0; })},
      {"math.floor", of_given([](const Given& a) { return rounded(std::floor(a.real_at(0))); })},
      {"math.ceil", of_given([](const Given& a) { return rounded(std::ceil(a.real_at(0))); })},
      {"math.trunc", of_given([](const Given& a) { return rounded(a.real_at(0)); })},
      {"torch.sym_float", of_given([](const Given& a) { return a.real_at(0); })},
      {"torch.sym_int", of_given([](const Given& a) { return rounded(a.real_at(0)); })},
      {"torch.sym_ite", of_given([](const Given& a) { return a[0].toBool() ? a[1] : a[2]; })},
      {"torch.sym_max", of_given([](const Given& a) { return a.real_at(0) >= a.real_at(1) ? a[0] : a[1]; })},
      {"torch.sym_min", of_given([](const Given& a) { return a.real_at(0) <= a.real_at(1) ? a[0] : a[1]; })},
      {"torch.sym_not", of_given([](const Given& a) { return a.real_at(0) == 0; })},
      {"torch._sym_sqrt", of_given([](const Given& a) { return std::sqrt(a.real_at(0)); })},
      {"torch.ops.aten.sym_numel.default", of_given([](const Given& a) { return a[0].toTensor().numel(); })},
      {"torch.ops.aten.sym_size.int", of_given([](const Given& a) { return a[0].toTensor().size(a[1].toInt()); })},
      {"torch.ops.aten.sym_stride.int", of_given([](const Given& a) { return a[0].toTensor().stride(a[1].toInt()); })},
  };
  return all;
}

}  // namespace

CallList::Arithmetic arithmetic_named(std::string_view target) {
  const auto found = functions().find(target);
  return found == functions().end() ? nullptr : found->second;
}

}  // namespace ddp::graph
