#pragma once
/// One cost function per shape; all counts for an operator derive from it.

#include "calc/operator/op.hpp"
#include "calc/operator/operand.hpp"
#include "calc/operator/pairs.hpp"
#include "calc/operator/pricing.hpp"

namespace llmcalc {

/// Bytes that an operator moves to and from memory: a lower bound, because each operand counts once. The fields are
/// doubles, because the number of experts that a router selects is an expected value.
struct Traffic {
  double weights = 0;      ///< bytes of weights read; in backward, also of gradients written
  double cache = 0;        ///< bytes of keys and values read from the cache
  double activations = 0;  ///< bytes of inputs read and outputs written
  constexpr double total() const { return weights + cache + activations; }
  constexpr Traffic& operator+=(const Traffic& o) {
    weights += o.weights;
    cache += o.cache;
    activations += o.activations;
    return *this;
  }
};

/// Cost of one pass over one operator on one rank. Only matmul FLOPs are counted (1 multiply-add = 2). Element-wise
/// work is priced by the bytes that it moves.
struct Cost {
  Flops model{};     ///< FLOPs under the plan's attention convention
  Flops executed{};  ///< FLOPs executed by the kernel: naive attention computes all pairs; flash attention computes the
                     ///< causal pairs and, in backward, also recomputes q k'
  Traffic moved{};
  constexpr Cost& operator+=(const Cost& o) {
    model += o.model;
    executed += o.executed;
    moved += o.moved;
    return *this;
  }
};

constexpr Cost operator*(Count n, const Cost& c) {
  const double m = static_cast<double>(n);
  return {n * c.model, n * c.executed, {m * c.moved.weights, m * c.moved.cache, m * c.moved.activations}};
}

/// Directions of an operator's kernels. A matmul computes its two gradients in two kernels; all other operators compute
/// both in backward_input.
enum class Direction : std::uint8_t { forward, backward_input, backward_weight };
constexpr bool is_backward(Direction d) { return d != Direction::forward; }

/// Cost of the forward pass. `component` selects the weight format in a block-quantized model.
Cost forward(const Shape& shape, const Pricing& p, Component component = Component::mlp);
/// Costs of the input and weight gradients, separate because a pipeline may defer weight gradients. A kernel that
/// computes both counts as an input gradient.
Cost backward_input(const Shape& shape, const Pricing& p, Component component = Component::mlp);
Cost backward_weight(const Shape& shape, const Pricing& p, Component component = Component::mlp);
Cost backward(const Shape& shape, const Pricing& p, Component component = Component::mlp);
Cost cost(const Op& op, const Pricing& p, Direction direction);
/// Costs in all three directions; outside training the gradient costs are empty.
struct Costs {
  Cost forward, backward_input, backward_weight;
};
Costs costs(const Op& op, const Pricing& p);
Cost forward(const Op& op, const Pricing& p);
/// Cost of both gradients; for frozen weights, only of the input gradient.
Cost backward(const Op& op, const Pricing& p);

/// Learned parameters of an operator. A tied head's matrix is counted with the token embedding and is 0 here.
struct Learned {
  Count total = 0;
  Count idle = 0;         ///< number of parameters of the routed experts to which a given token is not routed
  Count matmul = 0;       ///< number of parameters used in matmuls, including a tied head and idle experts
  Count matmul_idle = 0;  ///< the part of `matmul` in idle experts
  Count frozen = 0;       ///< number of untrained parameters
  Count factored = 0;     ///< number of elements of Adafactor's state: rows + columns of a matrix, all of a vector
  Count adamw = 0;        ///< number of trained parameters that Muon leaves to AdamW; depends on the operator, not only
                          ///< its shape
  constexpr Count trained() const { return total - frozen; }
  constexpr Learned& operator+=(const Learned& o) {
    total = add(total, o.total);
    idle = add(idle, o.idle);
    matmul = add(matmul, o.matmul);
    matmul_idle = add(matmul_idle, o.matmul_idle);
    frozen = add(frozen, o.frozen);
    factored = add(factored, o.factored);
    adamw = add(adamw, o.adamw);
    return *this;
  }
};
constexpr Learned operator-(const Learned& a, const Learned& b) {
  return {a.total - b.total,   a.idle - b.idle,         a.matmul - b.matmul, a.matmul_idle - b.matmul_idle,
          a.frozen - b.frozen, a.factored - b.factored, a.adamw - b.adamw};
}
constexpr Learned operator*(Count n, const Learned& l) {
  return {mul(n, l.total),  mul(n, l.idle),     mul(n, l.matmul), mul(n, l.matmul_idle),
          mul(n, l.frozen), mul(n, l.factored), mul(n, l.adamw)};
}
Learned learned(const Shape& shape);
/// Learned parameters of an operator whose weights may be frozen or belong to another operator. Weights that belong
/// to another operator count only in `matmul`.
Learned learned(const Op& op);

/// Number of special functions (exp, tanh and similar) that an element-wise operator evaluates: one per activation
/// element (backward: the function and its derivative) or per logit. Excludes the attention core, whose measured rate
/// includes them. ReLU also counts as one, because shapes do not record the activation.
double functions(const Shape& shape, bool is_backward);

/// Number of elements in the result.
Count out_elements(const Shape& shape);
/// Bytes of the result: values in the activation format, or indices.
Bytes result_bytes(const Shape& shape, DType activation);

}  // namespace llmcalc
