#pragma once
/// The weights of a model, by name, with gradients and optimizer state in training.

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
  normal,    ///< mean 0, deviation 0.02 (GPT-2)
  residual,  ///< deviation 0.02 / sqrt(2 layers), for outputs added to the residual stream (GPT-2)
  one,
  zero,
  half,  ///< shares of a shift: a token and the one before it alike
  step   ///< short_step, the bias of a recurrence's step
};

/// softplus of it is 0.01, the middle of the steps, 0.001 to 0.1, that Mamba begins with (arXiv:2312.00752, 3.6).
inline constexpr double short_step = -4.6;

/// `groups` matrices (out, in), or vectors (out) where in is 0.
struct ParameterShape {
  std::string name;  ///< "layers.3.attn.q.weight", "head.norm.bias"
  Count groups = 1, out = 0, in = 0;
  Start start = Start::normal;
  Count elements() const { return mul(groups, out, std::max<Count>(in, 1)); }
};

/// The shapes of all parameters in the order of the model, from the architecture alone; behind them those of its first
/// `modules` modules for further tokens (Mtp), whose layers have the numbers after the model's.
std::vector<ParameterShape> parameter_shapes(const Arch& arch, Count modules = 0);

/// The format of a parameter's codes; none: it is in the backend's numbers.
using ParameterFormats = std::function<std::optional<DType>(const ParameterShape&)>;
/// Those of a model that holds its weights as the plan says: for inference, or, where adapters are trained, those that
/// are frozen. Throws InputError for a format that is not coded here.
ParameterFormats parameter_formats(const Arch& arch, const Plan& plan);

struct Parameter {
  ParameterShape shape;
  Tensor value, gradient, master, first, second;  ///< those that are there: moments, momentum
  bool blank = false;                             ///< the gradient is zero, and nobody has written so yet
  std::optional<DType> format = {};               ///< of the codes that `value` holds
  bool whole = false;                             ///< its matrices are each updated as one (ParameterUpdate)
  Count elements() const { return shape.elements(); }
  /// Whether weight decay applies: to matrices, not vectors.
  bool decays() const { return shape.in > 0; }
  /// One group's codes: a matrix's, or all of a vector's.
  CodedShape coded() const {
    return shape.in > 0 ? CodedShape{*format, shape.out, shape.in} : CodedShape{*format, 1, elements()};
  }
  Count coded_groups() const { return shape.in > 0 ? shape.groups : 1; }
};

class Weights {
 public:
  /// Weights alone, with those of `modules`, drawn from `seed`; without one they hold nothing until they are loaded.
  /// formats: absent, all are in the backend's numbers. adapters: beside them.
  Weights(const Arch& arch, Backend& backend, Arena& arena, std::optional<std::uint64_t> seed, Count modules = 0,
          const ParameterFormats& formats = {}, const Adapters& adapters = {});

  /// Allocates gradients and the state of the plan's optimizer, of what the plan does not freeze.
  void make_trainable(const Plan& plan);
  /// That of the plan, and its moments of 8 bits (Backend::adamw_in_8_bits).
  Optimizer optimizer() const { return optimizer_; }
  void* coded_moments() const { return data(coded_moments_); }
  /// Marks all gradients as zero. The first operator to accumulate into one may write it instead, if it clears `blank`.
  void zero_gradients();
  /// Writes the zeros of blank gradients: of all, or of one to be added to. Null for a parameter that does not exist.
  void fill_blanks();
  void* sum(Parameter* p);
  /// Whether gradients are held in the backend's numbers, to which each sum that a rule has found is added, rounded.
  bool rounds_gradients() const { return rounds_gradients_; }
  void add_gradient(Parameter& p, const void* more);
  /// The numbers of a gradient.
  std::vector<double> gradient(const Parameter& p) const { return get(p.gradient, p.elements(), !rounds_gradients_); }
  /// Whether there is such an operator with learned numbers in the layer, and whether they are trained.
  bool has(Count layer, std::string_view op) const { return of_operator(layer, op) != nullptr; }
  bool trains(Count layer, std::string_view op) const {
    const Parameter* const p = of_operator(layer, op);
    return p != nullptr && p->gradient;
  }
  /// The parameters that are trained.
  std::vector<const Parameter*> trained() const;
  /// Those, as an optimizer takes them: gradients of 2 bytes as wide numbers, which lie beside the arena until the next
  /// call.
  std::vector<ParameterUpdate> updates();
  /// Marks every gradient as written, after a replayed step.
  void gradients_written();

  /// "attn.q.weight" of layer 3, or (layer -1) "head.norm.weight"; null where the model has none.
  Parameter* find(Count layer, std::string_view name);
  Parameter& at(Count layer, std::string_view name);
  std::deque<Parameter>& all() { return all_; }
  const std::deque<Parameter>& all() const { return all_; }
  Count count() const;
  Count count_trained() const;

  void set(Parameter& p, std::span<const double> values);
  /// The numbers of a weight in the backend's format: its own, or those that its codes stand for, until another weight
  /// of this kind ("bias") is asked for. Null for a parameter that does not exist.
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
  std::map<std::string, Unpacked, std::less<>> numbers_;  ///< of codes, by kind
};

}  // namespace llmcalc::model
