#pragma once
/// Ledger of a training step or a generation: every byte, every FLOP, every operator. The engine writes one and the
/// reference transformer another; validate/compare.hpp compares them.

#include <map>
#include <string>
#include <vector>

#include "calc/units.hpp"
#include "model/layers/attention_core.hpp"
#include "model/trace.hpp"

namespace llmcalc::validate {

/// One operator that ran. The ledger lists these in order.
struct LedgerEntry {
  std::string name;
  Shape shape;
  model::Direction direction;
  bool operator==(const LedgerEntry&) const = default;
};

struct Ledger {
  std::map<std::string, Count> bytes;                         ///< bytes by quantity: "weights", "peak", ...
  std::map<std::string, Count> saved;                         ///< bytes saved for backward, by operator
  std::map<std::string, Count> forward, backward, recompute;  ///< executed FLOPs, by operator
  std::map<std::string, Count> beside;  ///< operations outside matmuls and attention, by operator, if counted
  std::vector<LedgerEntry> order;
  model::AttentionCores cores = {};  ///< attention cores that ran
};

}  // namespace llmcalc::validate
