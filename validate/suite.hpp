#pragma once
/// Small models that cover every choice of architecture and plan, and every pair of choices that can go together.

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
  std::string name;  ///< its choices: "latent, window, post-norm, ..."
  Arch arch;
  Plan plan;
  Layout layout{};
  Numerics numerics{};
  std::function<void(model::Transformer&)> load{};  ///< weights to run it with; else they are drawn
};

/// One factor: its name and its levels, of which the first is the plain one.
struct Factor {
  std::string name;
  std::vector<std::string> levels;
};
const std::vector<Factor>& factors();

/// A level for each factor. Choices that another one rules out are set to the plain one.
using LevelChoice = std::vector<std::size_t>;
LevelChoice possible(LevelChoice c);

/// Rows in which every pair of levels that can go together appears: greedy (AETG, Cohen et al. 1997), the same every
/// time.
std::vector<LevelChoice> covering_array();

Case make_case(const LevelChoice& c);
/// `lacks`: what a case needs that a backend does not have (model::Backend::lacks), or nothing. Such a case has the
/// plain level of each factor that could be the reason instead.
std::vector<Case> small_suite(const std::function<std::string(const Case&)>& lacks = {});
/// The case at a size that fills a processor: widths and lengths 32 times larger, heads 64 wide. A step takes a
/// tenth of a second, so that arithmetic dominates its time, not the fixed cost of an operator.
Case enlarged(const Case& small);
/// GPT-2 124M: one training step of 256 tokens, 64 tokens decoded.
Case gpt2_case(const Arch& gpt2);

}  // namespace llmcalc::validate
