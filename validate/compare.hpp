#pragma once
/// Comparison of measurements with predictions, quantity by quantity.

#include <string>
#include <vector>

#include "model/layers/attention_core.hpp"
#include "validate/ledger.hpp"

namespace llmcalc::validate {

enum class Kind : std::uint8_t { count, bytes, flops };

struct Comparison {
  std::string part;      ///< "training", "inference"
  std::string quantity;  ///< "weights", "kept for backward", "FLOPs forward"
  std::string op;        ///< empty: of the whole model
  Kind kind = Kind::bytes;
  Count predicted = 0, measured = 0;
  bool equal() const { return predicted == measured; }
};

/// Element-wise operations of an operator, which its FLOPs leave out.
struct Beside {
  std::string part, op;
  Count operations = 0;
};

/// The code that computed attention, where a backend has more than one.
struct CoreUse {
  std::string part;  ///< "training", "inference"
  model::AttentionCores cores;
};

struct CaseVerdict {
  std::string name;  ///< of the model, or of the suite's case
  std::vector<Comparison> rows;
  std::vector<Beside> beside;  ///< listed, not compared: forward and backward together
  std::string order;           ///< the first operator whose name, shape or place differs, in a sentence; empty: none
  Count operators = 0;         ///< that were compared in order
  std::vector<CoreUse> cores = {};
  Count differing() const;
};

/// Names of the FLOPs of a ledger.
struct FlopNames {
  const char *forward = "FLOPs forward", *backward = "FLOPs backward", *recompute = "FLOPs recomputed";
};
inline constexpr FlopNames training_names{};
inline constexpr FlopNames inference_names{"FLOPs of the prefill", "FLOPs of the last step", ""};

/// Adds everything that two ledgers know, totals first, then operator by operator.
void compare(CaseVerdict& v, const std::string& part, const Ledger& predicted, const Ledger& measured,
             const FlopNames& names);

/// FLOPs alone: of a run with numbers that count what is done to them. Their quantity gets ", counted". Element-wise
/// work is listed beside.
void compare_counted(CaseVerdict& v, const std::string& part, const Ledger& predicted, const Ledger& counted,
                     const FlopNames& names);

/// The row with the largest relative error; null if all are equal.
const Comparison* worst(const std::vector<CaseVerdict>& verdicts, std::string& name);

}  // namespace llmcalc::validate
