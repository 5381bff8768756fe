// Models from mid-2025 to 2026, and Jamba: published configs, and counts derived from the modeling code.

#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/mtp.hpp"
#include "calc/textbook/stored.hpp"
#include "calc/textbook/textbook.hpp"
#include "calc/train.hpp"
#include "presets/import/import.hpp"
#include "presets/model_file.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

json::Value rows_2026() {
  const std::string path = LLMCALC_SOURCE_DIR "/tests/presets/data/configs_2026.json";
  return json::parse(json::file_text(path), path);
}

template <typename Act>
void for_each_row(const Act& act) {
  const json::Value rows = rows_2026();
  REQUIRE(rows.size() == 54);
  for (const json::Value& row : rows) {
    CAPTURE(row["name"].get<std::string>());
    act(row, import_config(row["config"], "config.json"));
  }
}

}  // namespace

TEST_CASE("a 2026 config imports with the expected parameter count of each component", "[import][architectures]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    const Parameters p = parameters(card.arch);
    CHECK(p.total == row["parameters"].get<Count>());
    CHECK(p.embedding == row["embedding"].get<Count>());
    CHECK(p.position == row.value("position", Count{0}));
    CHECK(p.attention == row["attention"].get<Count>());
    CHECK(p.mlp == row["mlp"].get<Count>());
    CHECK(p.norm == row["norm"].get<Count>());
    CHECK(p.lm_head == row["lm_head"].get<Count>());
    if (row.contains("active")) CHECK(p.active == row["active"].get<Count>());
    CHECK(p.active_mean == row.value("active_mean", p.active));
    CHECK(p.active_least == row.value("active_least", p.active));
    CHECK(test::parameters_of(card.arch, "attn.index") == row.value("indexer", Count{0}));
    CHECK(test::parameters_of(card.arch, "attn.pool") == row.value("compressor", Count{0}));
    const Count streams =
        test::parameters_of(card.arch, "attn.stream_weights") + test::parameters_of(card.arch, "attn.gather") +
        test::parameters_of(card.arch, "mlp.stream_weights") + test::parameters_of(card.arch, "mlp.gather");
    CHECK(streams == row.value("hyper_connections_of_layers", Count{0}));
    CHECK(card.unknown_keys == std::vector<std::string>());
  });
}

namespace {
/// Number of parameters, over all layers, of operators with these name prefixes.
Count parameters_of(const Arch& a, std::initializer_list<std::string_view> names) {
  Count n = 0;
  for_each_operator(a, {}, {}, {.training = true}, [&](const OperatorRow& row) {
    for (const std::string_view name : names)
      if (row.op.name.starts_with(name)) n += row.segment.repeats * learned(row.op.shape).total;
  });
  return n;
}
}  // namespace

TEST_CASE("the per-layer input table of Gemma 4 E2B is counted separately from its other parameters",
          "[import][architectures]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    if (row["name"] != "gemma-4-E2B") return;
    const Count all = parameters_of(card.arch, {"embedding.per_layer", "per_layer."});
    CHECK(all == 2348810240 + 41341696);  // vocabulary x 35 x 256, then projections and norms
    CHECK(parameters(card.arch).total - 2348810240 == 2279759139);
  });
}

// Published totals of the two checkpoints, including vision and audio encoders, which are the same in both. In E2B and
// E4B, 10 and 15 layers share keys and values; each of these has unused key and value matrices of 2048 x 512 and an
// unused norm of 256.
TEST_CASE("the parameters of Gemma 3n E4B and E2B differ by the same amount as in their checkpoints",
          "[import][architectures]") {
  Count e2b = 0, e4b = 0;
  for_each_row([&](const json::Value& row, const ModelCard& card) {
    if (row["name"] == "gemma-3n-E2B") e2b = parameters(card.arch).total + 10 * (2 * 2048 * 512 + 256);
    if (row["name"] == "gemma-3n-E4B") e4b = parameters(card.arch).total + 15 * (2 * 2048 * 512 + 256);
  });
  CHECK(e4b - e2b == 7849978192 - 5439438272);
}

// mtp: the published total minus the model's, if the files have the modules. Excludes router correction biases, which
// the files also have.
TEST_CASE("MTP modules of 2026 configs have the published parameter counts", "[import][architectures][mtp]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    CHECK(mtp_parameters(card.arch).total == row.value("mtp", Count{0}));
    CHECK(mtp_parameters(card.arch).total == card.arch.mtp.modules * textbook::module_parameters(card.arch));
  });
}

// hidden 2560: attention 15728640, dense MLP 3 x 2560 x 12288, projection 2 x 2560^2, 4 norms. The final norm is the
// model's.
TEST_CASE("an MTP module of ERNIE 4.5 has a dense MLP and no norm before the head", "[import][architectures][mtp]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    if (row["name"] != "ERNIE-4.5-21B-A3B") return;
    CHECK(card.arch.mtp.modules == 0);
    json::Value config = row["config"];
    config["num_nextn_predict_layers"] = 1;
    CHECK(mtp_parameters(import_config(config, "config.json").arch).total == 123217920);
  });
}

// 128 tokens add whole keys to every pool. fixed_per_sequence: full windows, recurrent states in float32, the last K -
// 1 inputs of convolutions in 16 bits. A decoder after an encoder has one more row, for its start token.
TEST_CASE("a 2026 model caches the expected bytes per token and per sequence", "[import][architectures]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    constexpr Count far = 1 << 20;
    const Bytes at = cache_bytes(card.arch, {}, far);
    const Bytes each((cache_bytes(card.arch, {}, far + 128) - at).value / 128);
    CHECK(each == Bytes(row["cache_per_token"].get<Count>()));
    const Count tokens = far + (card.arch.is_encoder_decoder() ? 1 : 0);
    CHECK(at - tokens * each == Bytes(row["fixed_per_sequence"].get<Count>()));
  });
}

namespace {

/// Bytes of an (out, in) matrix in fp8 with a scale of `scale` bytes per block of 128 x 128.
Count in_blocks(Count out, Count in, Count scale) { return out * in + scale * ceil_div(out, 128) * ceil_div(in, 128); }

/// Bytes of the attention weights as stored in the checkpoint.
Bytes stored_attention(const ModelCard& card) {
  Plan p;
  p.weight_precision = *card.weights;
  return held_bytes(price_holdings(card.arch, p, {}), p.weight_precision, Component::attention);
}

}  // namespace

// In each of 61 layers: five latent attention projections and two of the indexer in fp8, weights of 64 index heads in
// bf16.
TEST_CASE("DeepSeek-V3.2's indexer is stored in fp8 except for its head weights", "[quantized][architectures]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    if (row["name"] != "DeepSeek-V3.2") return;
    const Count each = in_blocks(1536, 7168, 4) + in_blocks(128 * 192, 1536, 4) + in_blocks(576, 7168, 4) +
                       in_blocks(128 * 256, 512, 4) + in_blocks(7168, 128 * 128, 4) + in_blocks(64 * 128, 1536, 4) +
                       in_blocks(128, 7168, 4);
    CHECK(stored_attention(card) == Bytes(61 * (each + 2 * 7168 * 64)));
  });
}

// In fp8 with one-byte scales: five projections in 43 layers, and the indexer's queries in 21. In bf16: the pools of 21
// layers (4096 x 1024 x 2, 4 x 1024) and of 20 (4096 x 512 x 2, 128 x 512), keys of 21 indexers (4096 x 256 x 2, 4 x
// 256), weights of 64 index heads, and 64 sinks.
TEST_CASE("DeepSeek-V4's attention is stored in fp8 except pools, index keys, head weights and sinks",
          "[quantized][architectures]") {
  for_each_row([](const json::Value& row, const ModelCard& card) {
    if (row["name"] != "DeepSeek-V4-Flash") return;
    const Count each = in_blocks(1024, 4096, 1) + in_blocks(64 * 512, 1024, 1) + in_blocks(512, 4096, 1) +
                       8 * in_blocks(1024, 4096, 1) + in_blocks(4096, 8 * 1024, 1);
    const Count pools = 21 * (2 * 4096 * 1024 + 4 * 1024) + 20 * (2 * 4096 * 512 + 128 * 512);
    const Count index = 21 * (2 * 4096 * 256 + 4 * 256 + 4096 * 64);
    CHECK(stored_attention(card) ==
          Bytes(43 * each + 21 * in_blocks(64 * 128, 1024, 1) + 2 * (pools + index + 43 * 64)));
  });
}

TEST_CASE("a 2026 model round-trips through a model file", "[import][architectures]") {
  for_each_row([](const json::Value&, const ModelCard& card) {
    CHECK(read_model_file(model_file_json(card), "a file").arch == card.arch);
  });
}

TEST_CASE("the parameters of 2026 models equal the closed forms", "[textbook][architectures]") {
  for_each_row([](const json::Value&, const ModelCard& card) {
    const Arch& a = card.arch;
    const Parameters p = parameters(a);
    const textbook::ParameterSums t = textbook::parameters(a);
    CHECK(p.attention == t.attention);
    CHECK(p.mlp == t.mlp);
    CHECK(p.norm == t.norm);
    CHECK(p.total == t.total());
    CHECK(p.active == textbook::active_parameters(a));
    CHECK(p.matmul_active == textbook::matmul_parameters(a));
    CHECK(p.factored == textbook::adafactor_numbers(a));
  });
}

TEST_CASE("the forward FLOPs of 2026 models equal the closed forms", "[textbook][architectures]") {
  for_each_row([](const json::Value&, const ModelCard& card) {
    const Arch& a = card.arch;
    if (a.is_encoder_decoder()) return;  // its encoder and decoder have separate tokens: see the T5 test
    for (const Count queries : {1, 700}) {
      const Step s{.sequences = 3, .queries = queries, .past = 900};
      const Work w = test::forward_work(a, s, {.convention = AttentionFlops::causal_exact});
      const textbook::ForwardFlops t =
          textbook::forward_flops(a, {3, queries, 900, AttentionFlops::causal_exact, textbook::Head::last, false});
      CHECK(w.core == t.core);
      CHECK(w.linear + w.head == t.linear + t.head);
    }
    for (const Count ranks : {1, 2, 8})
      CHECK(cache_bytes_per_token(a, {}, {.tp = ranks}) == textbook::kv_bytes_per_token(a, 2, ranks));
  });
}

TEST_CASE("the training FLOPs of 2026 models equal the closed forms", "[textbook][architectures]") {
  for_each_row([](const json::Value&, const ModelCard& card) {
    const Arch& a = card.arch;
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      const Plan p{.seq = 5000,
                   .micro_batch = 2,
                   .global_batch = 2,
                   .recompute = recompute,
                   .attention_flops = AttentionFlops::causal_exact};
      const textbook::PassShape pass{.batch = 2, .seq = 5000, .pairs = p.attention_flops, .head = textbook::Head::all};
      const textbook::ForwardFlops t = textbook::forward_flops(a, pass);
      const TrainingFlops f = training_flops(a, p);
      CHECK(f.model_total == textbook::train_flops(t));
      const bool made_before = a.per_layer.width > 0;  // their projection is outside all blocks, and linear here
      if (recompute == Recompute::full && made_before) continue;
      CHECK(f.hardware_total == textbook::train_flops(t, recompute));
      textbook::PassShape done = pass;
      done.done = true;
      CHECK(f.executed ==
            textbook::train_flops(textbook::forward_flops(a, done), recompute, textbook::scores_flops(a, pass)) +
                textbook::recomputed_recurrences(a, pass));
    }
  });
}

TEST_CASE("T5's training FLOPs with equally long sources and targets match the closed forms",
          "[textbook][architectures]") {
  for_each_row([](const json::Value&, const ModelCard& card) {
    const Arch& a = card.arch;
    if (!a.is_encoder_decoder()) return;
    const Plan plan{.seq = 96, .micro_batch = 3, .global_batch = 3, .attention_flops = AttentionFlops::causal_exact};
    const Work w = whole_flops(a, plan, training_step(plan), Phase::training).forward;
    const textbook::ForwardFlops t =
        textbook::forward_flops(a, {3, 96, 0, AttentionFlops::causal_exact, textbook::Head::all, false});
    CHECK(w.core == t.core);
    CHECK(w.linear + w.head == t.linear + t.head);
    CHECK(cache_bytes_per_token(a, {}, {.tp = 2}) == textbook::kv_bytes_per_token(a, 2, 2));
  });
}

TEST_CASE("the bytes that layers of 2026 models save for backward match the stored-tensor table",
          "[textbook][architectures]") {
  for_each_row([](const json::Value&, const ModelCard& card) {
    const Arch& a = card.arch;
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

TEST_CASE("FLOPs of two ranks of a 2026 model add up to one device's plus the replicated operators",
          "[contract][architectures]") {
  for_each_row([](const json::Value&, const ModelCard& card) {
    const Arch& a = card.arch;
    if (flaw(a, {.tp = 2}) != LayoutFlaw::none || a.vocabulary % 2 != 0) return;
    const Step s{.sequences = 1, .queries = 8, .training = true, .mtp = a.mtp.modules};
    Flops whole, ranks, replicas;
    const auto visit = [&](const OperatorRow& row) {
      const Flops f = row.segment.repeats * forward(row.op.shape, {}).model;
      const bool is_product = std::holds_alternative<Linear>(row.op.shape);
      const bool on_every_rank = row.op.split == Split::tokens || row.op.split == Split::inside ||
                                 (row.op.split == Split::partial && is_product);
      whole += f;
      if (on_every_rank) replicas += f;
    };
    for_each_operator(a, {}, {}, s, visit);
    for_each_operator(a, {}, {.tp = 2}, s,
                      [&](const OperatorRow& row) { ranks += row.segment.repeats * forward(row.op.shape, {}).model; });
    const Flops twice = 2 * ranks;
    CHECK(twice.value >= (whole + replicas).value);  // a single group of Mamba's B and C, or KV head, is on both
    if (a.kv_heads % 2 != 0) return;
    if (card.arch.recurrent.key_heads != 1 && (a.mixers.empty() || a.mixers[0].recurrent.key_heads != 1))
      CHECK(twice == whole + replicas);
  });
}
