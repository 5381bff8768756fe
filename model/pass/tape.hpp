#pragma once
/// The tape of a forward pass: one gradient rule per operator, run last to first.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "model/storage/arena.hpp"

namespace llmcalc::model {

/// State of a value that outlives its data.
struct TapeSlot {
  Tensor gradient;     ///< gradient of the loss, once backward has reached this point
  bool asks = true;    ///< whether it requires a gradient, because it depends on a trained parameter
  bool apart = false;  ///< whether the gradient needs a separate buffer, because dropout modifies it in place, or other
                       ///< gradients are added to the shared buffer before it is read
  std::function<Tensor()> recompute;  ///< recomputes a value that is not saved
  Tensor saved;                       ///< gates: the router's choice, for the gradients of all later operators
};

/// A result: `rows` rows of `width` elements.
struct Value {
  Tensor data;
  Count rows = 0, width = 0;
  std::shared_ptr<TapeSlot> slot;
  Count elements() const { return mul(rows, width); }
};

/// Takes over the gradient of a result, so that it is freed at the end of the rule.
inline Tensor taken(const std::shared_ptr<TapeSlot>& slot) { return std::exchange(slot->gradient, nullptr); }

class Tape {
 public:
  void remember(std::function<void()> rule) { rules_.push_back(std::move(rule)); }
  /// Runs the rules. Each is destroyed, with the tensors it saved, before the next one runs.
  void backward() {
    while (!rules_.empty()) {
      const std::function<void()> rule = std::move(rules_.back());
      rules_.pop_back();
      rule();
    }
  }

 private:
  std::vector<std::function<void()>> rules_;
};

}  // namespace llmcalc::model
