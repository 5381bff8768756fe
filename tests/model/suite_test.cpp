// The small suite covers all pairs of options, and runs as predicted.

#include "validate/suite.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "calc/arch/layer_kinds.hpp"
#include "calc/block/program.hpp"
#include "calc/cost/cost.hpp"
#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "calc/train.hpp"
#include "presets/model_file.hpp"
#include "tests/catch.hpp"
#include "tests/model/emulated.hpp"
#include "validate/run.hpp"

using namespace llmcalc;
using namespace llmcalc::validate;

TEST_CASE("the suite covers every compatible pair of options", "[suite][every]") {
  const std::vector<validate::LevelChoice> rows = covering_array();
  const std::vector<Factor>& f = factors();
  std::set<std::array<std::size_t, 4>> seen;
  for (const validate::LevelChoice& row : rows) {
    CHECK(row == possible(row));
    for (std::size_t a = 0; a < f.size(); ++a)
      for (std::size_t b = a + 1; b < f.size(); ++b) seen.insert({a, row[a], b, row[b]});
  }
  // Every pair of levels in random rows that were made valid must be covered.
  std::size_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    validate::LevelChoice row(f.size());
    for (std::size_t a = 0; a < f.size(); ++a) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      row[a] = (state >> 33U) % f[a].levels.size();
    }
    row = possible(row);
    for (std::size_t a = 0; a < f.size(); ++a)
      for (std::size_t b = a + 1; b < f.size(); ++b) REQUIRE(seen.count({a, row[a], b, row[b]}) == 1);
  }
}

TEST_CASE("suite cases with operators that a backend lacks are replaced by cases with default layers",
          "[suite][every]") {
  const auto lacks = [](const Case& c) -> std::string {
    const Arch& a = c.arch;
    const bool recurs =
        !a.linear_layers.empty() || (!a.mixers.empty() && a.mixers[0].recurrent.kind != RecurrentKind{});
    if (c.plan.mtp > 0) return "modules";
    return recurs ? "recurrence" : a.activation == Activation::xielu ? "xIELU" : "";
  };
  const std::vector<Case> all = small_suite(), some = small_suite(lacks);
  REQUIRE(some.size() == all.size());
  std::set<std::string> changed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(lacks(some[i]).empty());
    if (some[i].name == all[i].name) continue;
    changed.insert(lacks(all[i]));
  }
  CHECK(changed == std::set<std::string>{"modules", "recurrence", "xIELU"});
}

TEST_CASE("suite cases with features that the GPU kernels lack are replaced by supported cases", "[suite][every]") {
  const auto gpu = test::make_emulated(model::Number::f32);
  const auto lacks = [&](const Case& c) {
    const std::string lack = gpu->lacks(c.arch);
    return lack.empty() ? gpu->lacks_of(c.plan) : lack;
  };
  const std::vector<Case> all = small_suite(), some = small_suite(lacks);
  REQUIRE(some.size() == all.size());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(some[i].name);
    CHECK(lacks(some[i]).empty());
    CHECK((some[i].name == all[i].name) == lacks(all[i]).empty());
    changed += some[i].name != all[i].name;
  }
  CHECK(changed > all.size() / 2);
  CHECK(changed < all.size());
}

namespace {

class Dice {
 public:
  /// A number in [least, most].
  Count of(Count least, Count most) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return least + static_cast<Count>(state_ >> 33U) % (most - least + 1);
  }

 private:
  std::uint64_t state_ = 1;
};

/// Removes the model's window and experts from layers that have a different mixer or MLP.
void leave_apart(Arch& a) {
  LayerSet& local = a.local.layers;
  local = local.filtered(a.linear_layers, false);
  for (const LayerMixer& m : a.mixers) local = local.filtered(m.layers, false);
  for (const LayerMlp& m : a.mlps) a.moe.layers = a.moe.layers.filtered(m.layers, false);
  if (local.empty()) a.local = {};
  if (a.moe.layers.empty()) a.moe = {};
}

/// Whether some layer uses the model's dense MLP.
bool uses_mlp(const Arch& a) {
  LayerSet own = LayerSet::all(a.layers).filtered(a.moe.layers, false);
  for (const LayerMlp& m : a.mlps) own = own.filtered(m.layers, false);
  return a.block == BlockKind::shortcut || !own.empty();
}

/// Documents of random lengths that fill a sequence.
Documents any_documents(Dice& dice, Count seq) {
  Documents all;
  while (seq > 0) {
    const bool last = all.size() + 1 == Documents::capacity;
    const Count length = last ? 1 : dice.of(1, seq), count = last ? seq : dice.of(1, seq / length);
    all.push({.count = count, .length = length});
    seq -= count * length;
  }
  return all;
}

/// Makes a layer repeat the layer one period earlier if both are of the same kind.
void repeat_alike(Arch& a) {
  const Repeats given = std::exchange(a.repeats, {});
  if (given.layers.empty()) return;
  const LayerKinds kinds = layer_kinds(a);
  LayerSet alike;
  for (Count i = given.period; i < a.layers; ++i)
    if (kind_index(kinds, i) == kind_index(kinds, i - given.period)) alike.insert(i);
  if (!alike.empty()) a.repeats = {given.period, alike, given.normed};
}

/// Any combination of the suite's options with random sizes: narrow MLPs with wide heads, one layer, a vocabulary of
/// one token.
Case any_case(Dice& dice) {
  validate::LevelChoice row;
  for (const Factor& f : factors())
    row.push_back(static_cast<std::size_t>(dice.of(0, static_cast<Count>(f.levels.size()) - 1)));
  Case c = make_case(possible(row));
  Arch& a = c.arch;
  const Count width = a.hidden;
  const bool unlike = !a.mixers.empty() || !a.mlps.empty() || !a.linear_layers.empty();  // in the second or third layer
  a.layers = dice.of(unlike ? 3 : 1, 4);
  a.mtp.mixer_of = a.mtp.mlp_of = a.mtp.modules > 0 ? a.layers - 1 : 0;
  a.hidden = 2 * dice.of(1, 20);
  a.vocabulary = dice.of(1, 200);
  if (a.residual_block > 0) a.residual_block = dice.of(1, 3);
  if (a.altup) a.per_layer = {.rows = a.vocabulary, .width = dice.of(1, 9)};
  a.embedding_width = a.embedding_width == width ? a.hidden : dice.of(1, 40);
  a.narrow_ends = a.narrow_ends && a.embedding_width != a.hidden;
  a.head_dim = 2 * dice.of(1, 10);
  a.mlp_width = dice.of(1, 40);
  if (a.latent.kv_rank > 0) {
    Latent& l = a.latent;
    l.nope_dim = dice.of(0, 8);
    l.rope_dim = 2 * dice.of(l.nope_dim == 0 ? 1 : 0, 4);
    l.v_dim = dice.of(1, 8);
    l.kv_rank = dice.of(1, 20);
  }
  if (a.indexer.runs()) {
    a.indexer.width = std::max<Count>(2, a.latent.rope_dim) + 2 * dice.of(0, 3);
    a.indexer.top_k = dice.of(1, 9);
    for (std::size_t m = 0; m < a.mixers.size(); ++m)
      if (a.mixers[m].indexer.kind != IndexerKind::none) a.mixers[m].indexer.top_k = a.indexer.top_k;
  }
  for (LayerSet* layers : {&a.local.layers, &a.moe.layers})
    if (!layers->empty()) *layers = LayerSet::every(dice.of(0, a.layers - 1), dice.of(1, 2), a.layers);
  if (a.block == BlockKind::shortcut) a.moe.layers = LayerSet::all(a.layers);
  if (a.is_encoder_decoder()) a.mixers[0].layers = LayerSet::every(dice.of(1, a.layers - 1), 1, a.layers);
  leave_apart(a);
  repeat_alike(a);
  a.local.reach.tokens = std::min<Count>(a.local.reach.tokens, 1) * dice.of(1, 12);
  c.plan.seq = dice.of(1, a.context);
  if (!c.plan.documents.empty()) c.plan.documents = any_documents(dice, c.plan.seq);
  c.plan.micro_batch = c.plan.global_batch = dice.of(1, 3);
  c.plan.prompt = dice.of(1, a.context - 1);
  c.plan.generate = a.is_encoder() ? 0 : dice.of(1, a.context - c.plan.prompt);
  c.plan.batch = dice.of(1, 3);
  return c;
}

}  // namespace

TEST_CASE("models of random sizes match their predictions", "[suite][contract]") {
  Dice dice;
  for (int i = 0; i < 400; ++i) {
    const Case c = any_case(dice);
    const Arch& a = c.arch;
    const CaseVerdict v = validated(c, {.training = true, .inference = true}, {});
    INFO(v.name << fmt::format(
                       ": {} layers, {} wide, {} tokens, heads {} wide, MLP {}, latent {} {} {} of {}, prompt {}+{}",
                       a.layers, a.hidden, a.vocabulary, a.head_dim, a.mlp_width, a.latent.nope_dim, a.latent.rope_dim,
                       a.latent.v_dim, a.latent.kv_rank, c.plan.prompt, c.plan.generate)
                << v.order);
    for (const Comparison& row : v.rows) {
      INFO(row.part << ", " << row.quantity << " of " << row.op);
      CHECK(row.predicted == row.measured);
    }
    CHECK(v.differing() == 0);
  }
}

namespace {

/// Size of the dimension along which an operator is sharded, in the dimension's units; 0 if the operator is not sharded
/// that way.
Count cut_units(const Op& op) {
  const Linear* l = std::get_if<Linear>(&op.shape);
  if (l == nullptr) return 0;
  return op.split == Split::column ? l->out / op.unit : op.split == Split::row ? l->in / op.unit : 0;
}

/// Compares one rank's operators with the unsharded ones: all are present, and divisible matrices are sharded evenly.
void check_cut(const Segment& s, Count ranks) {
  std::size_t next = 0;
  for (const Op& op : s.whole) {
    while (std::holds_alternative<Collective>(s.ops[next].shape)) ++next;
    const Op& part = s.ops[next++];
    const Count all = learned(op.shape).total, rank = learned(part.shape).total;
    INFO(op.name);
    CHECK(part.name == op.name);
    CHECK(rank <= all);
    CHECK(ranks * rank >= all);
    if (op.split == Split::tokens || op.split == Split::inside || op.split == Split::partial) CHECK(rank == all);
    if (cut_units(op) % ranks != 0 || cut_units(op) == 0) continue;
    const Linear &w = std::get<Linear>(op.shape), &p = std::get<Linear>(part.shape);
    CHECK(ranks * p.in * p.out * p.groups == w.in * w.out * w.groups);
  }
}

}  // namespace

TEST_CASE("random models are sharded across up to 8 ranks, and the ranks' parameters add up", "[suite][contract]") {
  Dice dice;
  for (int i = 0; i < 400; ++i) {
    Case c = any_case(dice);
    if (!uses_mlp(c.arch)) c.arch.mlp_width = 0;  // a model file must not have unused sizes
    c.plan.lora_rank = 0;                         // model files have no adapters
    ModelCard card;
    card.name = "any";
    card.arch = c.arch;
    const json::Value file = model_file_json(card);
    INFO(file.dump());
    const Arch a = read_model_file(file, "any.json").arch;
    const Count whole = training_states(a, c.plan).parameters;
    for (Count ranks = 1; ranks <= 8; ++ranks) {
      const Layout layout{.tp = ranks, .sp = dice.of(0, 1) == 1};
      for_each_segment(a, layer_kinds(a), training_step(c.plan), layout,
                       [&](const Segment& s) { check_cut(s, ranks); });
      const Memory training = training_memory(a, c.plan, layout), inference = inference_memory(a, c.plan, layout);
      CHECK(training.parameters == inference.parameters);
      CHECK(training.parameters <= whole);
      CHECK(ranks * training.parameters >= whole);
    }
  }
}

TEST_CASE("the small suite matches its predictions exactly, even when every operation is counted",
          "[suite][contract]") {
  for (const Case& c : small_suite()) {
    const CaseVerdict v = validated(c, {.training = true, .inference = true, .counted = true}, {});
    INFO(v.name << " " << v.order);
    CHECK(v.differing() == 0);
    CHECK(v.rows.size() > 50);
    CHECK_FALSE(v.beside.empty());
    for (const Comparison& row : v.rows) {
      INFO(row.part << ", " << row.quantity << " of " << row.op);
      CHECK(row.predicted == row.measured);
    }
  }
}

namespace {

std::vector<std::string> operators(const Case& c) {
  std::vector<std::string> names;
  for_each_operator(c.arch, c.plan, {}, training_step(c.plan), [&](const OperatorRow& row) {
    names.push_back(fmt::format("{} {} x{}", row.op.name, row.op.shape.index(), row.segment.repeats));
  });
  return names;
}

}  // namespace

TEST_CASE("the suite's enlarged models for timing have the same operators as the small ones", "[suite][every]") {
  for (Case c : small_suite()) {
    c.plan.frozen = {};
    c.plan.lora_rank = 0;
    const Case large = enlarged(c);
    INFO(c.name);
    CHECK(large.name == c.name);
    CHECK(operators(large) == operators(c));
    CHECK_NOTHROW(check_runnable(large, {.training = false, .inference = true}));
    CHECK(parameters(large.arch).total > 100 * parameters(c.arch).total);
  }
}

TEST_CASE("a plan that the reference transformer does not support is rejected with a message", "[suite][every]") {
  Case c = small_suite().front();
  c.layout.tp = 2;
  CHECK_THROWS_WITH(check_runnable(c, {}),
                    "the reference transformer does not run this plan: it runs on one device; omit --gpus, --tp and "
                    "the other parallelism options");
  c = small_suite().front();
  c.plan.logits.format = LogitFormat::with_gradient;
  CHECK_THROWS_WITH(check_runnable(c, {}),
                    "the reference transformer does not run this plan: it stores a single copy of the logits; set "
                    "--logits to fp32 or compute");
  c = small_suite().front();
  c.plan.logits.chunks = 2;
  CHECK_NOTHROW(check_runnable(c, {}));
  c.plan.mtp = 1;
  CHECK_THROWS_WITH(check_runnable(c, {}),
                    "the reference transformer does not run this plan: logits of MTP modules cannot be chunked; omit "
                    "--mtp, or remove chunked from --logits");
}

TEST_CASE("a case that exceeds memory is rejected before any case of its suite runs", "[suite]") {
  std::vector<Case> cases = small_suite();
  CHECK_NOTHROW(check_room(cases, {}));
  Case large = cases.front();
  large.name = "large one";
  large.arch.vocabulary = Count{1} << 45;
  CHECK_THROWS_WITH(check_runnable(large, {}), Catch::Contains("bytes) and this machine has"));
  cases.push_back(large);
  CHECK_THROWS_WITH(check_room(cases, {}),
                    Catch::StartsWith("the suite's case large one needs ") &&
                        Catch::Contains("bytes) and this machine has") &&
                        Catch::EndsWith("available; free some memory, or use --suite small or only --infer"));

  Case many = small_suite().front();  // micro-batches of a step, whose tokens are held until used
  many.plan.global_batch = Count{1} << 45;
  CHECK_THROWS_WITH(check_runnable(many, {}), Catch::Contains("bytes) and this machine has"));
  CHECK_NOTHROW(check_runnable(many, {.training = false}));
}
