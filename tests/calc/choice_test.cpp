#include "calc/choice.hpp"

#include "calc/arch.hpp"
#include "calc/links/collective.hpp"
#include "calc/plan.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// Whether every value has a name and every spelling parses to its value.
template <typename E>
constexpr bool is_complete(E last) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (parse<E>(name(static_cast<E>(i))) != static_cast<E>(i)) return false;
  for (const auto& row : choices<E>)
    if (parse<E>(row.name) != row.value) return false;
  return true;
}

}  // namespace

TEST_CASE("every value of a user-facing enum has an entry in the enum's table of names", "[choice]") {
  CHECK(is_complete(Optimizer::muon));
  CHECK(is_complete(Recompute::full));
  CHECK(is_complete(AttentionImpl::flash));
  CHECK(is_complete(SoftmaxStore::minimal));
  CHECK(is_complete(GluStore::recompute));
  CHECK(is_complete(AttentionFlops::causal_exact));
  CHECK(is_complete(ParamsIn6N::matmul));
  CHECK(is_complete(Roofline::step));
  CHECK(is_complete(Mla::expanded));
  CHECK(is_complete(AttentionKind::latent));
  CHECK(is_complete(BlockKind::parallel));
  CHECK(is_complete(NormPlacement::both));
  CHECK(is_complete(NormKind::weight_free));
  CHECK(is_complete(MlpKind::gated));
  CHECK(is_complete(Activation::xielu));
  CHECK(is_complete(Position::alibi));
  CHECK(is_complete(QkNorm::full_bias));
  CHECK(is_complete(CollectiveOp::p2p));
  CHECK(is_complete(CollectiveAlgorithm::direct));
}

TEST_CASE("an alternative spelling parses but is not listed", "[choice]") {
  CHECK(parse<Optimizer>("AdamW") == Optimizer::adam);
  CHECK(name(Optimizer::adam) == "adam");
  CHECK(choice_names<Optimizer>.starts_with("adam|"));
  CHECK(choice_names<Optimizer>.find("adamw") == std::string_view::npos);
  CHECK(choice_names<AttentionImpl> == "naive|flash");
  CHECK(parse<AttentionFlops>("causal_half") == AttentionFlops::causal_half);
  CHECK_FALSE(parse<Optimizer>("").has_value());
  CHECK_FALSE(parse<Optimizer>("ada").has_value());
}
