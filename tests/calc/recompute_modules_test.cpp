// Recomputed modules of a block: saved tensors, and live tensors during recomputation.

#include "calc/operator/liveness.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count tokens = 6;  // 2 sequences of 3
const Step training{.sequences = 2, .queries = 3, .training = true};

}  // namespace

TEST_CASE("recomputed modules save no tensors, and their tensors are live in backward", "[cost][liveness]") {
  // prime_gqa saves 126 values and 7 in float32 per token. norm frees n 13, m 13 and 2 x 2 statistics; act frees a 17;
  // mlp frees u 17 and a 17, since m is saved as the MLP's input.
  const OpList ops = first_block(prime_gqa(), training);
  const auto under = [&](RecomputeModules again) {
    Pricing p;
    p.recomputed = again;
    return liveness(ops, p, tokens * 13);
  };
  const Liveness norm = under(RecomputeModule::norm), act = under(RecomputeModule::act),
                 mlp = under(RecomputeModule::mlp);
  CHECK(norm.saved == Bytes(tokens * (2 * 100 + 4 * 3)));
  CHECK(act.saved == Bytes(tokens * (2 * 109 + 4 * 7)));
  CHECK(mlp.saved == Bytes(tokens * (2 * 92 + 4 * 7)));
  // Backward. act: mlp.down needs the recomputed a, with its gradient and the output's. mlp: also u. norm: the same
  // peak as without recomputation, since u and a are saved.
  CHECK(act.backward == act.saved + Bytes(tokens * 2 * (13 + 17 + 17)));
  CHECK(mlp.backward == mlp.saved + Bytes(tokens * 2 * (13 + 17 + 17 + 17)));
  CHECK(norm.backward == norm.saved + Bytes(tokens * 2 * (13 + 17)));
  RecomputeModules both = RecomputeModule::norm;
  both.add(RecomputeModule::mlp);  // the norm is recomputed for the MLP: m and 2 statistics are also live
  CHECK(under(both).saved == Bytes(tokens * (2 * 66 + 4 * 3)));
  CHECK(under(both).backward == under(both).saved + Bytes(tokens * (2 * (13 + 13 + 17 + 17 + 17) + 4 * 2)));
}

TEST_CASE("recomputation of latent attention's up-projections starts from the saved latent rows", "[cost][liveness]") {
  const Arch a = prime_latent();
  const OpList ops = first_block(a, training);
  Pricing p;
  const Bytes all = liveness(ops, p, tokens * a.hidden).saved;
  p.recomputed = RecomputeModule::up;
  const Latent& l = a.latent;
  // Not saved: the normed latent rows with their norms' statistics, queries, keys and values.
  const Count head = l.nope_dim + l.rope_dim, norms = l.q_rank > 0 ? 2 : 1;
  const Count remade = l.q_rank + l.kv_rank + a.heads * ((l.q_rank > 0 ? head : 0) + l.nope_dim + l.v_dim);
  CHECK(all - liveness(ops, p, tokens * a.hidden).saved == Bytes(tokens * (2 * remade + 4 * norms)));
}
