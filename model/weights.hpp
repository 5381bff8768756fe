#pragma once
/// The weights of a model, by name, with gradients and optimizer state in training.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "model/backend.hpp"

namespace llmcalc::model {

/// The initial values of a weight.
enum class Start : std::uint8_t {
  normal,    ///< mean 0, deviation 0.02 (GPT-2)
  residual,  ///< deviation 0.02 / sqrt(2 layers), for outputs added to the residual stream (GPT-2)
  one,
  zero,
  step  ///< short_step, the bias of a recurrence's step
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

struct Parameter {
  ParameterShape shape;
  Tensor value, gradient, master, first, second;  ///< those that are there: moments, momentum
  bool blank = false;                             ///< the gradient is zero, and nobody has written so yet
  Count elements() const { return shape.elements(); }
  /// Whether weight decay applies: to matrices, not vectors.
  bool decays() const { return shape.in > 0; }
};

class Weights {
 public:
  /// Weights alone, with those of `modules`, drawn from `seed`; without one they hold nothing until they are loaded.
  Weights(const Arch& arch, Backend& backend, Arena& arena, std::optional<std::uint64_t> seed, Count modules = 0);

  /// Allocates gradients and the state of the plan's optimizer.
  void make_trainable(const Plan& plan);
  /// Marks all gradients as zero. The first operator to accumulate into one may write it instead, if it clears `blank`.
  void zero_gradients();
  /// Writes the zeros of blank gradients: of all, or of one to be added to. Null for a parameter that does not exist.
  void fill_blanks();
  void* sum(Parameter* p);
  /// All parameters, as an optimizer takes them.
  std::vector<ParameterUpdate> updates();
  /// Marks every gradient as written, after a replayed step.
  void gradients_written();

  /// "attn.q.weight" of layer 3, or (layer -1) "head.norm.weight"; null where the model has none.
  Parameter* find(Count layer, std::string_view name);
  Parameter& at(Count layer, std::string_view name);
  std::deque<Parameter>& all() { return all_; }
  const std::deque<Parameter>& all() const { return all_; }
  Count count() const;

  void set(Parameter& p, std::span<const double> values);
  std::vector<double> get(const Tensor& t, Count elements, bool wide) const;

 private:
  Tensor wide_tensor(Purpose purpose, const Parameter& p);
  void draw(Parameter& p, std::uint64_t stream, double deviation, std::uint64_t seed);
  void widen(Parameter& p);
  void start(Parameter& p, std::size_t index, Count layers, std::uint64_t seed);

  Backend& backend_;
  Arena& arena_;
  std::deque<Parameter> all_;
  std::map<std::string, Parameter*, std::less<>> by_name_;
};

}  // namespace llmcalc::model
