#pragma once
/// The learned numbers: what a model consists of, by name, with gradients and optimizer state where it trains.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "model/backend.hpp"

namespace llmcalc::model {

/// How a weight begins.
enum class Start : std::uint8_t {
  normal,    ///< mean 0, deviation 0.02 (GPT-2)
  residual,  ///< the same over sqrt(2 layers): what is added to the residual stream (GPT-2)
  one,
  zero
};

/// `groups` matrices (out, in), or vectors (out) where in is 0.
struct ParameterShape {
  std::string name;  ///< "layers.3.attn.q.weight", "head.norm.bias"
  Count groups = 1, out = 0, in = 0;
  Start start = Start::normal;
  Count elements() const { return mul(groups, out, std::max<Count>(in, 1)); }
};

/// Everything that is learned, in the order of the model. Written from the architecture alone.
std::vector<ParameterShape> parameter_shapes(const Arch& arch);

struct Parameter {
  ParameterShape shape;
  Tensor value, gradient, master, first, second;  ///< those that are there: moments, momentum
  bool blank = false;                             ///< the gradient is zero, and nobody has written so yet
  Count elements() const { return shape.elements(); }
  /// Matrices decay, vectors do not.
  bool decays() const { return shape.in > 0; }
};

class Weights {
 public:
  /// Weights alone; drawn from `seed`.
  Weights(const Arch& arch, Backend& backend, Arena& arena, std::uint64_t seed);

  /// Gradients, and what the plan's optimizer keeps.
  void make_trainable(const Plan& plan);
  /// Gradients are zero from now on. What is the first to add to one may write it instead, if it takes `blank` away.
  void zero_gradients();
  /// Writes the zeros that are due: of all, or of one to be added to. Null for a parameter that is not there.
  void fill_blanks();
  void* sum(Parameter* p);
  /// Every gradient has been written, by a step that was only repeated.
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
