// Context parallelism: work adds up, attention pairs are divided exactly, and collectives match the textbook.

#include "calc/parallel/context.hpp"

#include <vector>

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "calc/links/collective_call.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/price.hpp"
#include "calc/textbook/parallel.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using textbook::Fraction;

namespace {

constexpr Count sequences = 2, seq = 32;
const Step training{.sequences = sequences, .queries = seq, .training = true};
constexpr std::array methods{ContextMethod::ring, ContextMethod::all_gather, ContextMethod::ulysses};

Layout over(Count cp, ContextMethod method, Count tp = 1, bool sp = false) {
  return {.tp = tp, .sp = sp, .cp = cp, .context_method = method};
}

Arch windowed(bool chunked) {
  Arch a = even();
  a.local = {.reach = {7, chunked}, .layers = LayerSet::all(3)};
  return a;
}
Arch gated_experts() {
  Arch a = even_moe();
  a.moe.shared_gate = true;
  return a;
}
Arch parallel() {
  Arch a = even();
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  return a;
}
Arch normed_heads() {
  Arch a = even();
  a.qk_norm = QkNorm::each_head;
  a.attention_sinks = true;
  return a;
}
std::vector<Arch> archs() { return {even(), even_moe(), even_latent(), gated_experts(), parallel(), normed_heads()}; }

/// The compute operators, without collectives.
std::vector<Op> working(const OpList& ops) {
  std::vector<Op> r;
  for (const Op& op : ops)
    if (!std::holds_alternative<Collective>(op.shape)) r.push_back(op);
  return r;
}
Int128 model(const Op& op, const Pricing& p) { return forward(op, p).model.value + backward(op, p).model.value; }
Int128 executed(const Op& op, const Pricing& p) {
  return forward(op, p).executed.value + backward(op, p).executed.value;
}

std::vector<Pricing> conventions() {
  std::vector<Pricing> r;
  for (const AttentionImpl attention : {AttentionImpl::naive, AttentionImpl::flash})
    for (const AttentionFlops convention :
         {AttentionFlops::full, AttentionFlops::causal_half, AttentionFlops::causal_exact}) {
      Pricing p;
      p.attention = attention;
      p.convention = convention;
      p.cached = false;
      r.push_back(p);
    }
  return r;
}

/// Bytes that a rank of `group` sends forward and backward, derived from the operations' volumes.
struct Sent {
  Fraction forward, backward;
  Fraction all() const { return forward + backward; }
};
Fraction volume(const CollectiveCalls& all, Group group, Count ranks) {
  Fraction f;
  for (const CollectiveCall& e : all) {
    if (e.group != group) continue;
    const ByteFraction b = collective_volume(e.op, default_algorithm(e.op), e.bytes, ranks);
    f = f + Fraction(b.numerator.value, b.denominator);
  }
  return f;
}
Sent sent(const OpList& ops, Group group, Count ranks) {
  CollectiveCalls forward, backward;
  for (const Op& op : ops)
    if (const Collective* c = std::get_if<Collective>(&op.shape)) {
      add_forward(forward, *c, {});
      add_backward(backward, *c, {});
    }
  return {volume(forward, group, ranks), volume(backward, group, ranks)};
}

textbook::ContextMethod book(ContextMethod m) { return static_cast<textbook::ContextMethod>(m); }

textbook::ContextParallelLayer layer(const Arch& a, Count ranks, Count tp = 1) {
  return {sequences, seq, a.heads / tp, std::max<Count>(a.kv_heads / tp, 1), a.head_dim, 2, ranks};
}

}  // namespace

TEST_CASE("every causal pair belongs to one context-parallel rank, and all ranks have equally many pairs",
          "[contract][context]") {
  // Brute force over the zigzag: a rank has pieces i and 2c - 1 - i of 2c; token t attends to t + 1 keys.
  for (const Count c : {2, 4, 8}) {
    CAPTURE(c);
    const Count piece = seq / (2 * c);
    const OpList ops = first_block(even(), training, over(c, ContextMethod::ring));
    const Attention core = shape_of<Attention>(ops, "attn.core");
    CHECK(core.queries == 2 * piece);
    CHECK(core.keys == seq);
    CHECK(core.past() == 0);
    Pricing p;
    p.convention = AttentionFlops::causal_exact;
    for (Count rank = 0; rank < c; ++rank) {
      Count pairs = 0;
      for (Count t = 0; t < seq; ++t)
        if (t / piece == rank || t / piece == 2 * c - 1 - rank) pairs += t + 1;
      CHECK(forward(core, p).model == Flops(2) * (sequences * 16 * (8 + 8) * pairs));
    }
  }
}

TEST_CASE("the FLOPs of context-parallel ranks add up to the total in every convention", "[contract][context]") {
  for (const Arch& a : archs())
    for (const ContextMethod method : methods)
      for (const Count c : {2, 4, 8}) {
        CAPTURE(static_cast<int>(method), c);
        const auto whole = working(first_block(a, training)), part = working(first_block(a, training, over(c, method)));
        REQUIRE(whole.size() == part.size());
        for (const Pricing& p : conventions())
          for (std::size_t i = 0; i < whole.size(); ++i) {
            CAPTURE(whole[i].name);
            CHECK(whole[i].name == part[i].name);
            const Int128 ranks = static_cast<Int128>(c);
            CHECK((ranks * model(part[i], p) == model(whole[i], p)));
            CHECK((ranks * executed(part[i], p) == executed(whole[i], p)));
          }
      }
}

TEST_CASE("the work of a windowed core is the mean over context-parallel ranks, rounded up", "[contract][context]") {
  for (const bool chunked : {false, true})
    for (const ContextMethod method : {ContextMethod::ring, ContextMethod::all_gather})
      for (const Pricing& p : conventions()) {
        const Attention whole = shape_of<Attention>(first_block(windowed(chunked), training), "attn.core"),
                        part =
                            shape_of<Attention>(first_block(windowed(chunked), training, over(8, method)), "attn.core");
        const Int128 all = forward(whole, p).model.value, one = forward(part, p).model.value;
        CHECK((8 * one >= all));
        CHECK((8 * one - all < 8));
      }
}

TEST_CASE("under context parallelism, the head, the loss and the embedding process only a rank's tokens",
          "[contract][context]") {
  for (const ContextMethod method : methods) {
    const Layout four = over(4, method);
    const OpList head = cut(head_ops(even(), training), four), table = cut(embedding_ops(even(), training), four);
    CHECK(shape_of<Linear>(head, "head.logits").rows == sequences * seq / 4);
    CHECK(shape_of<Linear>(head, "head.logits").out == 512);
    CHECK(shape_of<Loss>(head, "head.loss") == Loss{sequences * seq / 4, 512});
    CHECK(shape_of<Norm>(head, "head.norm") == Norm{sequences * seq / 4, 64, 64});
    CHECK(shape_of<Lookup>(table, "embedding.tokens") == Lookup{sequences * seq / 4, 512, 64});
  }
}

TEST_CASE("every context-parallel rank has the full weights", "[contract][context]") {
  for (const Arch& a : archs())
    for (const ContextMethod method : methods)
      for (const Count tp : {1, 2}) {
        const auto before = working(first_block(a, training, {.tp = tp})),
                   after = working(first_block(a, training, over(4, method, tp)));
        REQUIRE(before.size() == after.size());
        for (std::size_t i = 0; i < before.size(); ++i) {
          CAPTURE(before[i].name);
          CHECK(learned(before[i].shape).total == learned(after[i].shape).total);
          CHECK(learned(before[i].shape).factored == learned(after[i].shape).factored);
          const auto bytes = [](const Op& op) { return weight_bytes(op.shape, stored(op.shape, op.component, {})); };
          CHECK(bytes(before[i]) == bytes(after[i]));
        }
      }
}

TEST_CASE("context-parallel traffic matches the textbook", "[textbook][context]") {
  for (const ContextMethod method : methods)
    for (const Count c : {2, 4, 8})
      for (const Count tp : {1, 2}) {
        CAPTURE(static_cast<int>(method), c, tp);
        Arch a = even();
        a.heads = 32;
        a.kv_heads = 16;
        const Sent s = sent(first_block(a, training, over(c, method, tp, tp > 1)), Group::context, c);
        const textbook::ContextParallelLayer l = layer(a, c, tp);
        CHECK(s.forward == textbook::context_parallel_forward(l, book(method)));
        CHECK(s.all() == textbook::context_parallel_train(l, book(method)));
      }
}

TEST_CASE("ring attention sends c - 1 messages forward and 2 c - 1 backward", "[contract][context]") {
  // Keys and values of a rank's 2 x 8 tokens: 8 KV heads of 8 + 8 values, 2 bytes each.
  CollectiveCalls forward, backward;
  for (const Op& op : first_block(even(), training, over(4, ContextMethod::ring)))
    if (const Collective* c = std::get_if<Collective>(&op.shape)) {
      add_forward(forward, *c, {});
      add_backward(backward, *c, {});
    }
  const Count block = 16 * 8 * 16 * 2;
  REQUIRE(forward.end() - forward.begin() == 1);
  CHECK(forward.begin()->messages == 3);
  CHECK(forward.begin()->bytes == Bytes(3 * block));
  REQUIRE(backward.end() - backward.begin() == 1);
  CHECK(backward.begin()->messages == 3 + 4);
  CHECK(backward.begin()->bytes == Bytes(7 * block));
  // Latency of 0.5 s per message and 1000 bytes/s, one message after another.
  const CommunicationTime t = communication_time(
      *backward.begin(), 4, {.ranks = 8, .bandwidth = BytesPerSecond(1000), .latency = Seconds(0.5)});
  CHECK(t.waits.value == Approx(7 * 0.5));
  CHECK(t.transfer.value == Approx(7 * block / 1000.0));
}

TEST_CASE("Ulysses replicates KV heads if there are fewer KV heads than ranks", "[contract][context]") {
  Arch a = even();
  a.kv_heads = 2;
  const OpList ops = first_block(a, training, over(8, ContextMethod::ulysses));
  const Attention core = shape_of<Attention>(ops, "attn.core");
  CHECK(core.heads == 2);
  CHECK(core.kv_heads == 1);
  CHECK(core.queries == seq);
  // The bytes equal those with 8 KV heads: each rank receives the head that its own heads read.
  a.kv_heads = 8;
  CHECK(sent(ops, Group::context, 8).all() ==
        textbook::context_parallel_train(layer(a, 8), book(ContextMethod::ulysses)));
}

TEST_CASE("latent attention sends expanded keys and values, or latent rows if absorbed", "[contract][context]") {
  // Per token: 16 heads with keys of 16 + 8 and values of 16; a latent row has 32 + 8.
  const Count tokens = sequences * seq;
  const auto gathered = [](const Step& s) {
    return sent(first_block(even_latent(), s, over(4, ContextMethod::all_gather)), Group::context, 4).forward;
  };
  CHECK(gathered(training) == Fraction(2 * tokens * 16 * (24 + 16) * 3 / 4));
  Step absorbed = training;
  absorbed.absorbed = true;
  CHECK(gathered(absorbed) == Fraction(2 * tokens * (32 + 8) * 3 / 4));
}

TEST_CASE("an attention core reads its rank's queries with all keys and values, and saves their statistics",
          "[contract][context]") {
  for (const ContextMethod method : {ContextMethod::ring, ContextMethod::all_gather}) {
    const Attention core = shape_of<Attention>(first_block(even(), training, over(4, method)), "attn.core");
    Pricing p;
    p.cached = false;
    const double q_and_o = 2 * 16 * 16 * (8 + 8), keys = 2 * sequences * seq * 8 * (8 + 8);
    CHECK(forward(core, p).moved.activations == q_and_o + keys);
    CHECK(held(core, p).saved == Bytes(4 * 16 * 16));  // log-sum-exps of 16 tokens and 16 heads
    p.attention = AttentionImpl::naive;
    CHECK(held(core, p).saved == Bytes(2 * 16 * 16 * seq));  // scores of its queries against all keys
  }
}

TEST_CASE("a context-parallel rank saves its share of the tensors, or more than its share under Ulysses",
          "[contract][context]") {
  for (const Arch& a : archs())
    for (const ContextMethod method : methods)
      for (const Count c : {2, 8}) {
        CAPTURE(static_cast<int>(method), c);
        const OpList whole = first_block(a, training), part = first_block(a, training, over(c, method));
        const Count input = sequences * seq * a.hidden;
        Pricing p;
        p.cached = false;
        const Liveness all = liveness(whole, p, input), one = liveness(part, p, input / c);
        CHECK(c * one.output == all.output);
        // Under Ulysses, attention's inputs are saved by heads, and its output also by tokens for the projection.
        // Latent heads are saved with the shared key.
        if (method == ContextMethod::ulysses)
          CHECK(c * one.saved > all.saved);
        else
          CHECK(c * one.saved == all.saved);
      }
}

TEST_CASE("Ulysses saves queries, keys and values sharded by heads, and the output by heads and by tokens",
          "[contract][context]") {
  const Count input = sequences * seq * 64;
  Pricing p;
  p.cached = false;
  const Liveness all = liveness(first_block(even(), training), p, input),
                 one = liveness(first_block(even(), training, over(4, ContextMethod::ulysses)), p, input / 4);
  CHECK(4 * one.saved - all.saved == Bytes(2 * sequences * seq * 16 * 8));
}

TEST_CASE("the incoming block of a ring, or the gathered keys and values, are live during the core",
          "[contract][context]") {
  // Heads so wide that the attention core is the peak of both passes.
  Arch a = even();
  a.hidden = a.embedding_width = 8;
  a.mlp_width = 8;
  const Count own = sequences * seq / 4, input = own * 8, block = 2 * own * 8 * (8 + 8);
  Pricing p;
  p.cached = false;
  const auto high = [&](ContextMethod m) { return liveness(first_block(a, training, over(4, m)), p, input); };
  OpList local = first_block(a, training, over(4, ContextMethod::ring));  // a ring whose blocks use no memory
  for (Op& op : local)
    if (Attention* core = std::get_if<Attention>(&op.shape)) core->ring = false;
  const Liveness none = liveness(local, p, input), ring = high(ContextMethod::ring),
                 gather = high(ContextMethod::all_gather);
  CHECK(ring.saved == none.saved);
  CHECK(gather.saved == none.saved);
  CHECK(ring.backward == none.backward + Bytes(2 * block));  // an incoming block and its gradient
  // All four blocks are re-gathered; the core writes the gradients of all four before their reduce-scatter.
  CHECK(gather.backward == none.backward + Bytes(4 * block + 3 * block));
  const auto core_held = [&](const OpList& ops) { return held(shape_of<Attention>(ops, "attn.core"), p); };
  const Held with = core_held(first_block(a, training, over(4, ContextMethod::ring)));
  CHECK(with.scratch == Bytes(block));
  CHECK(with.scratch_backward == Bytes(2 * block));
  CHECK(core_held(local).scratch == Bytes());
}

TEST_CASE("peaks under context parallelism equal the sum of live tensors", "[contract][context]") {
  for (const Arch& a : archs())
    for (const ContextMethod method : methods)
      for (const auto& [tp, sp] : {std::pair<Count, bool>{1, false}, {2, false}, {2, true}})
        for (const RecomputeModules& again : recomputed_modules()) {
          const OpList ops = first_block(a, training, over(4, method, tp, sp));
          const Count input = sequences * seq * a.hidden / (sp ? 8 : 4);
          const Liveness l = liveness(ops, {.recomputed = again}, input);
          const WorstMoments w = worst_moments(ops, {.recomputed = again}, input);
          CHECK(w.forward.total() == l.forward);
          CHECK(w.backward.total() == l.backward);
        }
}

TEST_CASE("context parallelism over a single rank leaves a block unchanged", "[contract][context]") {
  for (const Arch& a : archs())
    for (const ContextMethod method : methods)
      for (const auto& [tp, sp] : {std::pair<Count, bool>{1, false}, {4, false}, {4, true}}) {
        const OpList today = split_tensor(block_ops(a, first_kind(a), training), {.tp = tp, .sp = sp}),
                     ops = first_block(a, training, over(1, method, tp, sp));
        REQUIRE(names(ops) == names(today));
        for (std::size_t i = 0; i < ops.size(); ++i) CHECK(ops[i].shape == today[i].shape);
      }
}

TEST_CASE("context parallelism also shards the work and collectives of tensor-parallel ranks", "[contract][context]") {
  for (const ContextMethod method : methods) {
    const OpList tensor = first_block(even(), training, {.tp = 2, .sp = true}),
                 both = first_block(even(), training, over(4, method, 2, true));
    CHECK(shape_of<Norm>(both, "attn.norm").rows == sequences * seq / 8);
    CHECK(shape_of<Linear>(both, "attn.q") == Linear{.rows = sequences * seq / 4, .in = 64, .out = 64});
    CHECK(shape_of<Collective>(both, "attn.q").out_elements == sequences * seq / 4 * 64);
    CHECK(shape_of<Collective>(both, "attn.out").out_elements == sequences * seq / 8 * 64);
    const Sent before = sent(tensor, Group::tensor, 2), after = sent(both, Group::tensor, 2);
    CHECK(Fraction(4) * after.forward == before.forward);
    CHECK(Fraction(4) * after.backward == before.backward);
  }
}

TEST_CASE("recomputing the attention core repeats its collectives", "[contract][context]") {
  Plan plan;
  plan.seq = seq;
  plan.micro_batch = plan.global_batch = sequences;
  plan.recompute = Recompute::selective;
  for (const ContextMethod method : methods) {
    const Prices prices = price(even(), plan, over(4, method), {});
    const PassPrice &again = prices.layer(0).recomputed, &ahead = prices.layer(0).forward;
    CHECK(volume(again.collectives, Group::context, 4) == volume(ahead.collectives, Group::context, 4));
    CHECK(Fraction(0) < volume(again.collectives, Group::context, 4));
  }
}

TEST_CASE("sequence length, heads and attention kind must be compatible with context parallelism",
          "[contract][context]") {
  CHECK(flaw(even(), over(4, ContextMethod::ring), 32) == LayoutFlaw::none);
  CHECK(flaw(even(), over(4, ContextMethod::ring), 36) ==
        LayoutFlaw::context_tokens);  // 36 tokens do not divide into 8 pieces
  CHECK(flaw(even(), over(4, ContextMethod::all_gather), 36) == LayoutFlaw::context_tokens);
  CHECK(flaw(even(), over(4, ContextMethod::ulysses), 36) == LayoutFlaw::none);
  CHECK(flaw(even(), over(4, ContextMethod::ulysses), 34) == LayoutFlaw::context_tokens);
  CHECK(flaw(even(), over(16, ContextMethod::ulysses)) == LayoutFlaw::none);
  CHECK(flaw(even(), over(16, ContextMethod::ulysses, 2)) == LayoutFlaw::context_heads);
  CHECK(flaw(even(), over(16, ContextMethod::ring, 2)) == LayoutFlaw::none);
  Arch lightning = even();
  lightning.linear_layers = LayerSet::all(1);
  CHECK(flaw(lightning, over(2, ContextMethod::ring)) == LayoutFlaw::context_state);
  CHECK(flaw(lightning, {}, 33) == LayoutFlaw::none);
}
