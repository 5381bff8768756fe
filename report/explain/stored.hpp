#pragma once
/// What the backward pass needs, as a table in symbols: the inputs of every operator, each once (Goon (2.5), (2.6);
/// Korthikanti et al. 2022). Written from the architecture and the plan alone: it knows nothing of the engine's
/// operators.

#include <string>
#include <vector>

#include "report/explain/setting.hpp"
#include "report/explain/sum.hpp"

namespace llmcalc::explain {

/// On which tokens of the micro-batch a rank works.
enum class Tokens : std::uint8_t {
  all,  ///< B*S
  mine  ///< B*S/T under sequence parallelism
};

/// `times` x factors numbers for every token, of p bytes each, or bytes.
struct Stored {
  std::string layers;  ///< "L", "L_w"; empty: outside the blocks
  Tokens tokens = Tokens::all;
  bool numbers = true;  ///< p bytes each; false: bytes
  Count times = 1;
  std::vector<std::string> factors;
  bool core = false;       ///< scores, masks, log-sum-exps of the attention core
  bool scattered = false;  ///< cut over the ranks number by number, not token by token
};

/// Everything that no recomputation spares.
std::vector<Stored> stored(const Setting& s);

/// The bytes of those that `which` wants: B*S*(L*(p*(...) + ...) + ...).
std::string stored_text(const Setting& s, const std::vector<Stored>& all, bool (*which)(const Stored&));
/// Only the numbers, p left out: what one byte more of precision costs.
std::string stored_numbers_text(const Setting& s, const std::vector<Stored>& all, bool (*which)(const Stored&));

/// "B*S", or "B*S/T" under sequence parallelism.
std::string tokens_text(const Setting& s, Tokens tokens);

}  // namespace llmcalc::explain
