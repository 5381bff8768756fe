// Published facts about every shipped model, and the engine compared with the closed forms.

#include <cmath>
#include <set>

#include "calc/block/program.hpp"
#include "calc/infer.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/stored.hpp"
#include "calc/textbook/textbook.hpp"
#include "calc/train.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// Published facts of models before mid-2025 (data/configs_2026.json has later ones): total and active parameters
/// (active 0: dense), cached elements per token, layers with a growing cache, and parameters by component: token
/// embedding and learned positions, attention with its norms, MLPs, norms, head (all 0: not published).
struct Facts {
  std::string_view name;
  Count total, active, cached, cached_layers, embedding, attention, mlp, norm, lm_head;
};
constexpr Facts facts[] = {
#include "tests/presets/engine_model_facts.inc"
};

template <typename Act>
void for_each_model(const Act& act) {
  for (const Builtin& b : builtin_models()) {
    CAPTURE(std::string(b.name));
    act(load_model(b.name).arch);
  }
}

/// The models whose layers all process the same tokens; tests/calc/encoder_test.cpp covers encoder-decoders.
template <typename Act>
void for_each_of_one_stack(const Act& act) {
  for_each_model([&](const Arch& a) {
    if (!a.is_encoder_decoder()) act(a);
  });
}

/// The models of one stack that generate token by token.
template <typename Act>
void for_each_decoder(const Act& act) {
  for_each_of_one_stack([&](const Arch& a) {
    if (!a.is_encoder()) act(a);
  });
}

double d(Count n) { return static_cast<double>(n); }
double d(Bytes b) { return d(b.value); }
const Cluster any;

constexpr AttentionFlops conventions[] = {AttentionFlops::full, AttentionFlops::causal_half,
                                          AttentionFlops::causal_exact};

}  // namespace

TEST_CASE("every shipped model has the published parameter count of each component", "[golden][engine]") {
  for (const Facts& f : facts) {
    CAPTURE(std::string(f.name));
    const Parameters p = parameters(load_model(f.name).arch);
    CHECK(p.total == f.total);
    CHECK(p.active == (f.active != 0 ? f.active : f.total));
    if (f.attention == 0) continue;
    CHECK(p.embedding + p.position == f.embedding);
    CHECK(p.attention == f.attention);
    CHECK(p.mlp == f.mlp);
    CHECK(p.norm == f.norm);
    CHECK(p.lm_head == f.lm_head);
  }
}

TEST_CASE("every shipped model caches the published number of elements per token", "[golden][engine]") {
  for (const Facts& f : facts) {
    CAPTURE(std::string(f.name));
    const Arch a = load_model(f.name).arch;
    CHECK(cache_elements_per_token(a) == f.cached);
    CHECK(a.layers - static_cast<Count>(a.linear_layers.size()) == f.cached_layers);
    CHECK(cache_bytes_per_token(a, {}) == Bytes(2 * f.cached));
  }
}

TEST_CASE("parameters of shipped models equal the closed forms", "[textbook][engine]") {
  for_each_model([](const Arch& a) {
    const Parameters p = parameters(a);
    const textbook::ParameterSums t = textbook::parameters(a);
    CHECK(p.embedding == t.embedding);
    CHECK(p.position == t.position);
    CHECK(p.attention == t.attention);
    CHECK(p.mlp == t.mlp);
    CHECK(p.norm == t.norm);
    CHECK(p.lm_head == t.lm_head);
    CHECK(p.total == t.total());
    CHECK(p.active == textbook::active_parameters(a));
    CHECK(p.non_embedding == textbook::non_embedding_parameters(a));
    CHECK(p.total - p.position == textbook::nanogpt_parameters(a));
    CHECK(p.matmul_active == textbook::matmul_parameters(a));
    CHECK(p.factored == textbook::adafactor_numbers(a));
  });
}

TEST_CASE("forward FLOPs of shipped models equal the closed forms in every convention", "[textbook][engine]") {
  for_each_of_one_stack([](const Arch& a) {
    for (const AttentionFlops convention : conventions)
      for (const auto& [queries, past] : {std::pair<Count, Count>{1, 0}, {37, 0}, {5000, 0}, {300, 4000}, {1, 9000}})
        for (const bool all : {false, true})
          for (const bool absorbed : {false, true}) {
            const Step s{.sequences = 3, .queries = queries, .past = past, .training = all, .absorbed = absorbed};
            const Work w = test::forward_work(a, s, {.convention = convention});
            const textbook::Head head = all ? textbook::Head::all : textbook::Head::last;
            const textbook::ForwardFlops t = textbook::forward_flops(a, {3, queries, past, convention, head, absorbed});
            CHECK(w.core == t.core);
            CHECK(w.linear + w.head == t.linear + t.head);
          }
  });
}

TEST_CASE("training FLOPs of shipped models equal the closed forms", "[textbook][engine]") {
  for_each_model([](const Arch& a) {
    for (const AttentionFlops convention : conventions) {
      Plan p;
      p.seq = 3000;
      p.micro_batch = p.global_batch = 2;
      p.attention_flops = convention;
      textbook::PassShape pass{2, 3000, 0, convention, textbook::Head::all, false};
      const textbook::ForwardFlops t = textbook::forward_flops(a, pass);
      CHECK(training_flops(a, p).model_total == textbook::train_flops(t));
      p.recompute = Recompute::selective;
      CHECK(training_flops(a, p).hardware_total == textbook::train_flops(t, Recompute::selective));
      pass.done = true;
      if (convention == AttentionFlops::causal_exact)
        CHECK(training_flops(a, p).executed ==
              textbook::train_flops(textbook::forward_flops(a, pass), Recompute::selective,
                                    textbook::scores_flops(a, pass) + textbook::recomputed_recurrences(a, pass)));
      p.recompute = Recompute::full;
      CHECK(training_flops(a, p).hardware_total == textbook::train_flops(t, Recompute::full));
    }
  });
}

TEST_CASE("decode FLOPs, cache and traffic of shipped models equal the closed forms", "[textbook][engine]") {
  for_each_decoder([](const Arch& a) {
    for (const Count context : {1, 1000, 20000})
      for (const Count batch : {1, 32}) {
        Plan p;
        p.batch = batch;
        const PassEstimate e = test::decode(a, p, any, context);
        CHECK(e.flops == textbook::decode_flops(a, batch, context));
        CHECK(batch * (cache_bytes(a, p, context) - textbook::state_bytes_per_sequence(a, 2)) ==
              textbook::kv_cache_bytes(a, batch, context, 2));
        const double read = textbook::weight_bytes_read(a, batch, 2);
        CHECK(e.rank.moved.weights == Approx(read).epsilon(1e-12));
      }
    for (const Count ranks : {1, 2, 8, 64}) {
      CHECK(cache_bytes_per_token(a, {}, {.tp = ranks}) == textbook::kv_bytes_per_token(a, 2, ranks));
    }
  });
}

TEST_CASE("a dense model's decode step reads all weights except the tables, in every format", "[contract][engine]") {
  for_each_decoder([](const Arch& a) {
    if (a.has_experts()) return;
    for (const char* format : {"bf16", "fp8", "int8", "awq", "q4_k", "nf4"}) {
      CAPTURE(format);
      Plan p;
      p.weight_precision = *dtype(format);
      p.batch = 3;
      const DType weights = p.weight_precision[Component::mlp];
      const DType table = weights.format().covers_embedding ? weights : p.precision;
      const Bytes matrix = tensor_bytes(table, a.vocabulary, a.embedding_width);
      const Bytes positions =
          a.position == Position::learned ? tensor_bytes(table, a.position_rows, a.hidden) : Bytes();
      const Count inputs = a.layers * a.per_layer.width;
      const Bytes rows = tensor_bytes(table, 3, a.embedding_width) + tensor_bytes(table, 3, inputs) +
                         (a.position == Position::learned ? tensor_bytes(table, 3, a.hidden) : Bytes());
      const Bytes tables = matrix + positions + tensor_bytes(table, a.per_layer.rows, inputs);
      // A layer's alternating updates read them twice.
      const Bytes routers = a.altup ? a.layers * tensor_bytes(weights, a.streams, a.hidden) : Bytes();
      Bytes again;  // bytes read once more by layers that repeat others' weights
      const Prices held = price_prefill(a, p, {}, {}, 1);
      for (std::size_t k = 0; k < held.kinds.size(); ++k) again += held.kinds[k].count * held.layer(k).borrowed.weights;
      const Bytes want = weights_bytes(a, p) - tables + rows + (a.tied_head ? matrix : Bytes()) + routers + again;
      CHECK(test::decode(a, p, any, 100).rank.moved.weights == d(want));
    }
  });
}

TEST_CASE("decode and prefill times under the step roofline equal the closed forms", "[textbook][engine]") {
  const Cluster dev = test::device(989.4e12, 3.35e12);
  const textbook::Machine machine{1, 989.4e12, 3.35e12, 1, 1};
  for_each_decoder([&](const Arch& a) {
    if (textbook::state_bytes_per_sequence(a, 2) != Bytes()) return;  // states are also read
    Plan p;
    p.roofline = Roofline::step;
    p.attention_flops = AttentionFlops::causal_exact;
    for (const Count batch : {1, 64, 2048})
      for (const Count context : {5000, 20000}) {
        p.batch = batch;
        CHECK(test::decode(a, p, dev, context).bound.total().value ==
              Approx(textbook::decode_step_seconds(a, batch, context, 2, 2, machine)).epsilon(1e-12));
      }
    p.batch = 1;
    const textbook::PassShape pass{1, 4000, 0, AttentionFlops::causal_exact, textbook::Head::last, false};
    if (!a.has_experts())  // compute-bound
      CHECK(test::prefill(a, p, dev, 4000).bound.total().value ==
            Approx(textbook::prefill_seconds(a, pass, 2, machine)).epsilon(1e-12));
  });
}

namespace {

/// Saved bytes of one layer with grouped attention and an MLP: the closed form plus the terms that it excludes.
textbook::Fraction closed_form(const Arch& a, const LayerKind& kind, const Plan& p) {
  const Mixer& x = a.mixer(kind.mixer);
  textbook::LayerActivations l;
  l.seq = p.seq;
  l.hidden = a.hidden;
  l.heads = x.heads;
  l.kv_heads = x.kv_heads;
  l.head_dim = x.head_dim;
  l.mlp_width = kind.mlp_width;
  l.gated = a.mlp == MlpKind::gated;
  l.layer_norm = a.norm != NormKind::rms_norm;
  l.norm_stats = true;
  l.flash = true;
  l.parallel_block = a.block == BlockKind::parallel;
  textbook::Fraction f = textbook::layer_activations(l);
  const Count d_model = a.hidden, statistic = l.layer_norm ? 8 : 4;
  Count more = kind.ends_run ? 2 * d_model + statistic : 0;
  if (a.block == BlockKind::parallel && a.norms_per_layer == 2) more += 2 * d_model + statistic;
  if (a.norm_placement == NormPlacement::both) more += 2 * (2 * d_model + statistic);
  more += 2 * (x.heads + x.kv_heads) * (x.v_dim() - x.head_dim);  // values and output
  if (x.attention_gate != AttentionGate::none)                    // the ungated output, and the gate
    more += 2 * x.heads * (x.v_dim() + (x.attention_gate == AttentionGate::per_head ? 1 : x.v_dim()));
  if (x.qk_norm != QkNorm::none) {
    const bool centered =
        x.qk_norm == QkNorm::per_head_bias || x.qk_norm == QkNorm::full_bias || x.qk_norm == QkNorm::each_head;
    const Count rows = x.qk_norm == QkNorm::full ? 2 : x.heads + x.kv_heads;  // one norm each for q and k
    more += 2 * (x.heads + x.kv_heads) * x.head_dim + rows * (centered ? 8 : 4);
  }
  if (a.sub_norms) more += 2 * (x.attention_width() + kind.mlp_width) + 2 * 4;  // inputs of these norms; statistics
  if (kind.experts) {
    const Moe& m = a.moe;
    f = f + textbook::moe_activations({1, p.seq, d_model, m.experts, m.top_k, m.width, m.shared_experts, m.shared_width,
                                       2, l.gated, GluStore::all});
    if (m.shared_gate) more += 2 * (d_model + 1);
  }
  return f + textbook::Fraction(p.seq * more);
}

}  // namespace

TEST_CASE("every layer with attention and an MLP saves the bytes of its closed form plus the extra terms",
          "[textbook][engine]") {
  for_each_of_one_stack([](const Arch& a) {
    Plan p;
    p.seq = 64;
    p.global_batch = 1;
    for (const LayerKind& kind : layer_kinds(a)) {
      const Mixer& x = a.mixer(kind.mixer);
      if (x.attention != AttentionKind::grouped || x.recurrent.kind != RecurrentKind::none || kind.linear) continue;
      if (!kind.has_mlp() || x.indexer.kind != IndexerKind::none || x.value_norm || a.output_scale) continue;
      const OpList ops = block_ops(a, kind, training_step(p));
      const Liveness l = liveness(ops, pricing(p, Phase::training), p.seq * a.hidden * a.streams);
      const textbook::Fraction want = closed_form(a, kind, p);
      REQUIRE(want.whole());
      CHECK(l.saved == want.numerator.bytes());
    }
  });
}

TEST_CASE("training memory is the sum of its parts for every model and recomputation mode", "[contract][engine]") {
  for_each_model([](const Arch& a) {
    Bytes last;
    for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
      Plan p;
      p.seq = 512;
      p.global_batch = 1;
      p.recompute = r;
      p.attention = AttentionImpl::naive;
      const Memory m = training_memory(a, p);
      CHECK(m.total == m.weights + m.gradients + m.optimizer + m.activations + m.logits + m.workspace);
      CHECK(m.peak <= m.total);
      CHECK(m.parameters == parameters(a).total);
      const bool has_core = cache_elements_per_token(a) > 0;  // otherwise no core to recompute
      if (r == Recompute::full || (r == Recompute::selective && has_core)) CHECK(m.activations < last);
      last = m.activations;
    }
  });
}

/// train_gpt2.cu (karpathy/llm.c f1e2ace), fill_in_activation_sizes: the tensor "output" of B T max(3C, NH T, Vp)
/// floatX elements, here with Vp, has the logits and, after fused_classifier, their gradient. Vp: 50257 padded to
/// 50304.
TEST_CASE("GPT-2 124M's logits in the compute format have as many bytes as in llm.c", "[contract][engine]") {
  Arch a = load_model("gpt-2-124m").arch;
  a.vocabulary = 50304;
  Plan p;
  p.micro_batch = p.global_batch = 64;
  p.seq = 1024;
  p.logits.format = LogitFormat::compute;
  const textbook::Fraction closed = textbook::logits_activations(64, 1024, 50304, 2);
  REQUIRE(closed.whole());
  CHECK(closed.numerator.bytes() == Bytes(6593445888));
  const Memory narrow = training_memory(a, p);
  CHECK(narrow.logits == Bytes(6593445888));
  p.logits = {};
  const Memory wide = training_memory(a, p);
  CHECK(wide.logits == Bytes(13186891776));
  CHECK(narrow.activations - wide.activations == Bytes(4 * 64 * 1024));  // a float32 log-sum-exp per token
}

TEST_CASE("the bytes that layers of shipped models save for backward match the stored-tensor table",
          "[textbook][engine]") {
  for_each_model([](const Arch& a) {
    const Plan p{.seq = 64, .micro_batch = 1, .global_batch = 1};
    Bytes saved;
    for (const LayerKind& kind : layer_kinds(a))
      saved +=
          kind.count *
          liveness(block_ops(a, kind, training_step(p)), pricing(p, Phase::training), 64 * a.hidden * a.streams).saved;
    const auto in_block = [](const textbook::StoredActivation<textbook::Fraction>& x) { return x.in_block; };
    const textbook::MicroBatch<textbook::Fraction> m{.B = 1, .S = 64, .p = 2};
    CHECK(saved == textbook::stored(a, textbook::exact_sizes(a), m, in_block).bytes(2).bytes());
  });
}

namespace {

/// Operators that run unsharded on every rank.
bool is_on_every_rank(const Op& op) {
  const bool is_product = std::holds_alternative<Linear>(op.shape);
  return op.split == Split::tokens || op.split == Split::inside || (op.split == Split::partial && is_product);
}

/// Forward FLOPs of the operators that `which` accepts, on one of `ranks`.
template <typename Which>
Flops rank_flops(const Arch& a, Count ranks, const Which& which) {
  Flops all;
  for_each_operator(a, {}, {.tp = ranks}, {.sequences = 1, .queries = 8, .training = true, .mtp = a.mtp.modules},
                    [&](const OperatorRow& row) {
                      if (which(row.op)) all += row.segment.repeats * forward(row.op.shape, {}).model;
                    });
  return all;
}

/// Whether two ranks both hold a KV head that cannot be split, or a group of Mamba's B and C shared by all heads.
bool shares_groups(const Arch& a) {
  for (std::size_t i = 0; i <= a.mixers.size(); ++i) {
    const Mixer& m = a.mixer(i);
    if ((m.recurrent.kind == RecurrentKind::mamba2 && m.recurrent.key_heads == 1) ||
        (m.attention == AttentionKind::grouped && m.kv_heads % 2 != 0))
      return true;
  }
  return false;
}

}  // namespace

TEST_CASE("FLOPs of two ranks of every model add up to one device's plus the replicated operators",
          "[contract][engine]") {
  for_each_model([](const Arch& a) {
    if (flaw(a, {.tp = 2}) != LayoutFlaw::none || a.vocabulary % 2 != 0) return;
    const auto any_operator = [](const Op&) { return true; };
    const Flops twice = 2 * rank_flops(a, 2, any_operator);
    const Flops both = rank_flops(a, 1, any_operator) + rank_flops(a, 1, is_on_every_rank);
    if (shares_groups(a))
      CHECK(twice.value > both.value);
    else
      CHECK(twice == both);
  });
}

TEST_CASE("the attention FLOPs of chunks and of decode steps add up to those of one prefill", "[contract][engine]") {
  for_each_decoder([](const Arch& a) {
    const Pricing exact{.convention = AttentionFlops::causal_exact};
    const auto core = [&](Count queries, Count past) {
      return test::forward_work(a, {.queries = queries, .past = past}, exact).core;
    };
    CHECK(core(3000, 0) + core(6000, 3000) == core(9000, 0));
    Flops steps;
    for (Count past = 0; past < 50; ++past) steps += core(1, past);
    CHECK(steps == core(50, 0));
  });
}
