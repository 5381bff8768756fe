#pragma once
/// A model's weights by name, with gradients and optimizer state in training.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "model/backend.hpp"
#include "model/layers/adapters.hpp"

namespace llmcalc::model {

/// The initial values of a weight.
enum class Start : std::uint8_t {
  normal,    ///< mean 0, standard deviation 0.02 (GPT-2)
  residual,  ///< standard deviation 0.02 / sqrt(2 layers), for outputs added to the residual stream (GPT-2)
  one,
  zero,
  half,  ///< token-shift coefficients: equal parts of a token and the previous one
  step   ///< short_step, the bias of a recurrence's step
};

/// softplus(short_step) is 0.01, the middle of Mamba's initial steps, 0.001 to 0.1 (arXiv:2312.00752, 3.6).
inline constexpr double short_step = -4.6;

/// `groups` matrices (out, in), or vectors (out) if in is 0.
struct ParameterShape {
  std::string name;  ///< such as "layers.3.attn.q.weight" or "head.norm.bias"
  Count groups = 1, out = 0, in = 0;
  Start start = Start::normal;
  Count elements() const { return mul(groups, out, std::max<Count>(in, 1)); }
};

/// Shapes of all parameters in model order, derived from the architecture, followed by its first `modules` MTP modules
/// (Mtp), whose layers are numbered after the model's.
std::vector<ParameterShape> parameter_shapes(const Arch& arch, Count modules = 0);

/// Returns a parameter's quantized format; absent: the backend's format.
using ParameterFormats = std::function<std::optional<DType>(const ParameterShape&)>;
/// Formats of weights stored as the plan specifies: all weights for inference, the frozen ones if adapters are trained.
/// Throws InputError for a format that can_code() rejects.
ParameterFormats parameter_formats(const Arch& arch, const Plan& plan);

struct Parameter {
  ParameterShape shape;
  Tensor value, gradient, master, first, second;  ///< null if unused; first and second: moments or momentum
  bool blank = false;                             ///< whether the gradient is zero but not yet written
  std::optional<DType> format = {};               ///< format of a quantized `value`
  bool whole = false;                             ///< whether each matrix is updated as a whole (ParameterUpdate)
  Count elements() const { return shape.elements(); }
  /// Whether weight decay applies: to matrices, not vectors.
  bool decays() const { return shape.in > 0; }
  /// Quantized shape of one group: a matrix, or a whole vector.
  CodedShape coded() const {
    return shape.in > 0 ? CodedShape{*format, shape.out, shape.in} : CodedShape{*format, 1, elements()};
  }
  Count coded_groups() const { return shape.in > 0 ? shape.groups : 1; }
};

class Weights {
 public:
  /// Allocates only weights, including those of the first `modules` MTP modules, and draws them from `seed`; without a
  /// seed they are uninitialized until loaded. `formats`: if empty, all weights are in the backend's format.
  /// `adapters`: added to the weights.
  Weights(const Arch& arch, Backend& backend, Arena& arena, std::optional<std::uint64_t> seed, Count modules = 0,
          const ParameterFormats& formats = {}, const Adapters& adapters = {});

  /// Allocates gradients and the plan's optimizer state for all parameters that the plan does not freeze.
  void make_trainable(const Plan& plan);
  /// The plan's optimizer, and its 8-bit moments (OptimizerStep::coded).
  Optimizer optimizer() const { return optimizer_; }
  void* coded_moments() const { return data(coded_moments_); }
  /// Marks all gradients as zero. The first operator to accumulate into one may overwrite it if it clears `blank`.
  void zero_gradients();
  /// Writes the zeros of all blank gradients. sum() does so for one parameter and returns its gradient, to be
  /// accumulated into; null if it has no gradient.
  void fill_blanks();
  void* sum(Parameter* p);
  /// Whether gradients are in the backend's format. If so, each gradient rule's sum is added with rounding.
  bool rounds_gradients() const { return rounds_gradients_; }
  void add_gradient(Parameter& p, const void* more);
  /// A gradient's values.
  std::vector<double> gradient(const Parameter& p) const { return get(p.gradient, p.elements(), !rounds_gradients_); }
  /// Whether the layer has this operator with learned parameters, and whether they are trained.
  bool has(Count layer, std::string_view op) const { return of_operator(layer, op) != nullptr; }
  bool trains(Count layer, std::string_view op) const {
    const Parameter* const p = of_operator(layer, op);
    return p != nullptr && p->gradient;
  }
  /// The trained parameters.
  std::vector<const Parameter*> trained() const;
  /// The trained parameters in the form that optimizers require. 2-byte gradients are widened, outside the arena, until
  /// the next call.
  std::vector<ParameterUpdate> updates();
  /// Marks every gradient as written, after a replayed step.
  void gradients_written();

  /// Finds a parameter, such as "attn.q.weight" of layer 3, or "head.norm.weight" of layer -1; null if the model lacks
  /// it.
  Parameter* find(Count layer, std::string_view name);
  Parameter& at(Count layer, std::string_view name);
  std::deque<Parameter>& all() { return all_; }
  const std::deque<Parameter>& all() const { return all_; }
  Count count() const;
  Count count_trained() const;

  void set(Parameter& p, std::span<const double> values);
  /// A weight's values in the backend's format. Dequantized values are valid until another weight of the same kind
  /// (such as "bias") is requested. Null if p is null.
  const void* numbers(const Parameter* p);
  std::vector<double> get(const Tensor& t, Count elements, bool wide) const;

 private:
  Tensor wide_tensor(Purpose purpose, const Parameter& p);
  void draw(Parameter& p, std::uint64_t stream, double deviation, std::uint64_t seed);
  void widen(const void* from, void* to, Count n) const;
  void set_codes(Parameter& p, std::span<const double> values);
  void start(Parameter& p, std::size_t index, Count layers, std::uint64_t seed);

  const Parameter* of_operator(Count layer, std::string_view op) const;
  void make_states(Parameter& p, const Plan& plan);
  Tensor zeros(Purpose purpose, Bytes bytes);

  const Arch arch_;
  Backend& backend_;
  Arena& arena_;
  Optimizer optimizer_ = Optimizer::adam;
  StateFormat states_ = StateFormat::wide;
  bool rounds_gradients_ = false;
  std::deque<Unpacked> wide_gradients_;
  Tensor coded_moments_;
  std::deque<Parameter> all_;
  std::map<std::string, Parameter*, std::less<>> by_name_;
  std::map<std::string, Unpacked, std::less<>> numbers_;  ///< dequantized values, by kind of weight
};

}  // namespace llmcalc::model
