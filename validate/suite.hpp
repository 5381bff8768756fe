#pragma once
/// Small models that together cover every choice of architecture and plan, and every pair of compatible choices.

#include <functional>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/arch/numerics.hpp"
#include "calc/layout.hpp"
#include "calc/plan.hpp"

namespace llmcalc::model {
class Transformer;
}

namespace llmcalc::validate {

struct Case {
  std::string name;  ///< levels of its factors: "latent, window, post-norm, ..."
  Arch arch;
  Plan plan;
  Layout layout{};
  Numerics numerics{};
  std::function<void(model::Transformer&)> load{};  ///< loads the weights; if empty, they are random
};

/// One factor: its name and its levels, the first of which is the plain one.
struct Factor {
  std::string name;
  std::vector<std::string> levels;
};
const std::vector<Factor>& factors();

/// A level for each factor. If other choices rule out a level, possible() replaces it with the plain level.
using LevelChoice = std::vector<std::size_t>;
LevelChoice possible(LevelChoice c);

/// Rows that contain every pair of compatible levels, found by a deterministic greedy search (AETG, Cohen et al. 1997).
std::vector<LevelChoice> covering_array();

Case make_case(const LevelChoice& c);
/// `lacks`: returns a feature that a case needs and a backend lacks (model::Backend::lacks), or an empty string. In a
/// case with a missing feature, each factor that could be the reason is set to its plain level.
std::vector<Case> small_suite(const std::function<std::string(const Case&)>& lacks = {});
/// The case at a size that fills a CPU: widths and lengths 32 times larger, with heads 64 wide. A step takes a tenth of
/// a second, so its time is dominated by arithmetic, not by the fixed cost of operators.
Case enlarged(const Case& small);
/// GPT-2 124M: one training step of 256 tokens, and 64 decoded tokens.
Case gpt2_case(const Arch& gpt2);

}  // namespace llmcalc::validate
