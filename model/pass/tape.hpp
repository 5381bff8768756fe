#pragma once
/// The tape of a forward pass: one gradient rule per operator, run last to first.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "model/storage/arena.hpp"

namespace llmcalc::model {

/// The state of a value that outlives its numbers.
struct TapeSlot {
  Tensor gradient;                ///< of the loss, once backward has come here
  bool asks = true;               ///< for a gradient: something before it is trained
  bool apart = false;             ///< its gradient shares no buffer: dropout works on it in place, or it waits while
                                  ///< others are added to the buffer that it would share
  std::function<Tensor()> again;  ///< recomputes a value that is not kept
  Tensor kept;                    ///< gates: the router's choice, for the gradients of all that follow it
};

/// A result: `rows` rows of `width` numbers.
struct Value {
  Tensor data;
  Count rows = 0, width = 0;
  std::shared_ptr<TapeSlot> slot;
  Count elements() const { return mul(rows, width); }
};

/// The gradient of a result, which is freed at the end of the rule that takes it.
inline Tensor taken(const std::shared_ptr<TapeSlot>& slot) { return std::exchange(slot->gradient, nullptr); }

class Tape {
 public:
  void remember(std::function<void()> rule) { rules_.push_back(std::move(rule)); }
  /// Runs the rules; each is destroyed, with the tensors that it kept, before the next.
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
