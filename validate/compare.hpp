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
  std::string quantity;  ///< "weights", "saved for backward", "FLOPs forward"
  std::string op;        ///< empty: the whole model
  Kind kind = Kind::bytes;
  Count predicted = 0, measured = 0;
  bool equal() const { return predicted == measured; }
};

/// Element-wise operations of an operator, which are not included in its FLOPs.
struct Beside {
  std::string part, op;
  Count operations = 0;
};

/// The core that computed attention, for backends that have several.
struct CoreUse {
  std::string part;  ///< "training", "inference"
  model::AttentionCores cores;
};

struct CaseVerdict {
  std::string name;  ///< name of the model, or of the suite's case
  std::vector<Comparison> rows;
  std::vector<Beside> beside;  ///< element-wise operations, listed but not compared; forward plus backward
  std::string order;    ///< sentence about the first operator that differs in name, shape or position; empty: all match
  Count operators = 0;  ///< number of operators compared in order
  std::vector<CoreUse> cores = {};
  Count differing() const;
};

/// Row names for a ledger's FLOPs.
struct FlopNames {
  const char *forward = "FLOPs forward", *backward = "FLOPs backward", *recompute = "FLOPs recomputed";
};
inline constexpr FlopNames training_names{};
inline constexpr FlopNames inference_names{"FLOPs of the prefill", "FLOPs of the last step", ""};

/// Adds all quantities of two ledgers: totals first, then operator by operator.
void compare(CaseVerdict& v, const std::string& part, const Ledger& predicted, const Ledger& measured,
             const FlopNames& names);

/// Compares only the FLOPs of a run with counting values, and appends ", counted" to the quantity names. Lists
/// element-wise work separately.
void compare_counted(CaseVerdict& v, const std::string& part, const Ledger& predicted, const Ledger& counted,
                     const FlopNames& names);

/// The row with the largest relative error; null if all are equal.
const Comparison* worst(const std::vector<CaseVerdict>& verdicts, std::string& name);

}  // namespace llmcalc::validate
