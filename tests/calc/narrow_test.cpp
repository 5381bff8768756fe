// Low-precision matmuls of blocks: bytes read, counted by element and by group, and the matmuls that are low-precision.

#include <random>

#include "calc/textbook/operands.hpp"
#include "calc/train.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using textbook::Fraction;

namespace {

/// The scaled formats that a matmul's operands can have.
std::vector<DType> scaled_formats() {
  std::vector<DType> all;
  for (const Format& f : formats)
    if (is_operand_format(f) && !dtype(f.name)->plain()) all.push_back(*dtype(f.name));
  return all;
}

Pricing training_in(DType product) { return {.phase = Phase::training, .product = product}; }

/// Bytes of a (rows, depth) operand: visits every element, and adds a scale at the start of each block.
Bytes visited(DType t, Count rows, Count depth, Count block_rows) {
  const Format& f = t.format();
  const Count element = whole_bits(f);
  const Count length = f.group > 0 ? f.group : depth;
  const bool padded = f.element_bits == 0;  // groups are stored whole, even if partly filled
  Count bits = 0;
  for (Count r = 0; r < rows; ++r)
    for (Count c = 0; c < depth; ++c) {
      if (!padded) bits += element;
      if (r % block_rows == 0 && c % length == 0) bits += f.group_bits;
    }
  return Bytes((bits + 7) / 8 + f.tensor_bytes);
}

double real(Bytes b) { return static_cast<double>(b.value); }

textbook::FormatSizes<Fraction> sizes_of(const Format& f) {
  return {{f.element_bits, 8}, {f.group_bits, 8}, f.group, {f.outer_bits, 8}, f.outer, f.tensor_bytes};
}

/// Operand bytes read by the forward, input-gradient and weight-gradient matmuls, excluding the results written.
struct OperandsRead {
  double forward, input, weight;
};
OperandsRead read_by_products(const Linear& s, DType product, Component c = Component::mlp) {
  const Pricing p = training_in(product);
  const double result = 2.0 * static_cast<double>(s.rows * s.out), dx = 2.0 * static_cast<double>(s.rows * s.in);
  return {forward(Shape(s), p, c).moved.total() - result, backward_input(Shape(s), p, c).moved.total() - dx,
          backward_weight(Shape(s), p, c).moved.activations};
}

Plan plan_in(const char* format, const LowPrecision& low_precision = {}) {
  Plan p;
  p.seq = 512;
  p.global_batch = 1;
  p.precision = *dtype(format);
  p.low_precision = low_precision;
  return p;
}

/// Devices with peaks 1,000 times higher in fp8 and fp4, whose memory accesses take no time.
Cluster cards() {
  Cluster c = device(1e12, 1e30, 1e30);
  c.device.peaks[static_cast<std::size_t>(Peak::fp8)] = FlopsPerSecond(1e15);
  c.device.peaks[static_cast<std::size_t>(Peak::fp4)] = FlopsPerSecond(1e15);
  return c;
}

template <typename Visit>
void each_product(const Arch& a, const Plan& p, const Visit& visit) {
  for_each_operator(a, p, {}, training_step(p), [&](const OperatorRow& row) {
    if (const Linear* l = std::get_if<Linear>(&row.op.shape)) visit(row, *l);
  });
}

}  // namespace

TEST_CASE("operand bytes match a group-by-group count", "[narrow]") {
  for (const DType t : scaled_formats())
    for (const Count rows : {1, 5, 129})
      for (const Count depth : {1, 16, 33, 130}) {
        CAPTURE(std::string(t.name()), rows, depth);
        CHECK(operand_bytes(t, rows, depth) == visited(t, rows, depth, 1));
        CHECK(tensor_bytes(t, rows, depth) == visited(t, rows, depth, t.format().group_rows));
      }
  CHECK(operand_bytes(dtypes::bf16, 3, 5) == Bytes(30));
}

TEST_CASE("operand groups lie along the dimension that a matmul sums over", "[narrow]") {
  // 65 elements have 3 groups of 32, 31 have one, 33 have two; mxfp8 stores 33 bytes per group.
  const OperandsRead mx = read_by_products({.rows = 33, .in = 65, .out = 31}, *dtype("mxfp8"));
  CHECK(mx.forward == 33 * (33 * 3 + 31 * 3));
  CHECK(mx.input == 33 * (33 * 1 + 65 * 1));
  CHECK(mx.weight == 33 * (65 * 2 + 31 * 2));
  // DeepSeek-V3: a 4-byte scale per 1 x 128 elements of x and dy, and per 128 x 128 of W, which serves both directions.
  const Count rows = 4096, in = 7168, out = 2048;
  const OperandsRead tiles = read_by_products({.rows = rows, .in = in, .out = out}, *dtype("fp8-block"));
  const Count weights = in * out + 4 * (in / 128) * (out / 128);
  CHECK(tiles.forward == static_cast<double>(rows * in + 4 * rows * in / 128 + weights));
  CHECK(tiles.input == static_cast<double>(rows * out + 4 * rows * out / 128 + weights));
  CHECK(tiles.weight == static_cast<double>((in + out) * rows + 4 * (in + out) * rows / 128));
}

TEST_CASE("operand bytes match the textbook's closed form for random shapes in every format", "[narrow][textbook]") {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<Count>(1 + random() % n); };
  for (const DType t : scaled_formats())
    for (int i = 0; i < 200; ++i) {
      const Linear s{.rows = below(700), .in = below(700), .out = below(700)};
      const textbook::ProductSizes<Fraction> p{s.rows, s.in, s.out};
      const Format& f = t.format();
      const OperandsRead engine = read_by_products(s, t);
      CAPTURE(std::string(t.name()), s.rows, s.in, s.out);
      CHECK(engine.forward == textbook::forward_operands(f, sizes_of(f), p).value());
      CHECK(engine.input == textbook::input_gradient_operands(f, sizes_of(f), p).value());
      CHECK(engine.weight == textbook::weight_gradient_operands(f, sizes_of(f), p).value());
    }
}

TEST_CASE("Llama-3.1 8B in nvfp4 has bf16's FLOPs and memory, and its matmuls read 4.5 bits per value", "[narrow]") {
  const Arch a = llama31_8b();
  const Plan wide = plan_in("bf16"), narrow = plan_in("nvfp4");
  const Prices before = price(a, wide, {}, {}), now = price(a, narrow, {}, {});
  CHECK(now.whole.forward.total() == before.whole.forward.total());
  CHECK(now.whole.backward == before.whole.backward);
  CHECK(now.whole.executed == before.whole.executed);
  const Memory held = training_memory(a, wide), same = training_memory(a, narrow);
  CHECK(same.peak == held.peak);
  CHECK(same.activations == held.activations);
  int products = 0;
  each_product(a, narrow, [&](const OperatorRow& row, const Linear& l) {
    CAPTURE(std::string(row.op.name));
    const bool block = row.segment.kind == SegmentKind::block;
    CHECK(row.op.narrow == block);
    if (!block) return;
    const OperandsRead sixteen = read_by_products(l, dtypes::bf16), four = read_by_products(l, *dtype("nvfp4"));
    for (const auto& [of4, of16] :
         {std::pair{four.forward, sixteen.forward}, {four.input, sixteen.input}, {four.weight, sixteen.weight}})
      CHECK(of4 == of16 * 4.5 / 16 + 2 * 4);  // per-tensor scales of both operands
    ++products;
  });
  CHECK(products == 7);  // q, k, v, out, gate, up, down
}

TEST_CASE("training reads weights in the narrower of the storage and matmul formats", "[narrow]") {
  const Linear s{.rows = 3, .in = 64, .out = 96};
  const auto read = [&](const char* held, const char* product) {
    Pricing p = training_in(*dtype(product));
    p.weight = *dtype(held);
    return backward_input(Shape(s), p, Component::mlp).moved.weights;
  };
  CHECK(read("bf16", "fp8") == 64 * 96);
  CHECK(read("fp32", "bf16") == 2 * 64 * 96);
  CHECK(read("bf16", "mxfp4") == 64 * (96 / 32) * 17);
  CHECK(read("fp8", "nvfp4") == 64 * (96 / 16) * 9 + 4);
  // Frozen weights stored in fewer bits are read as stored: groups along the input.
  CHECK(read("nf4", "fp8") == 96 * (64 / 2 + 4));
  CHECK(read("mxfp4", "nvfp4") == 96 * (64 / 32) * 17);
  Pricing serving = training_in(*dtype("fp8"));
  serving.phase = Phase::decode;
  CHECK(forward(Shape(s), serving, Component::mlp).moved.weights ==
        2 * 64 * 96);  // weights are not quantized for a single pass
  CHECK(forward(Shape(s), training_in(*dtype("fp8")), Component::router).moved.weights == 2 * 64 * 96);
}

TEST_CASE("low precision can be enabled for each part of a block separately", "[narrow]") {
  Arch a = even_moe();
  a.layers = 2;
  a.moe.layers = {};
  a.moe.layers.insert(1);
  a.moe.shared_experts = 1;
  a.moe.shared_width = 64;
  for (const auto& [part, some] : {std::pair{NarrowPart::attention, Component::attention},
                                   {NarrowPart::mlp, Component::mlp},
                                   {NarrowPart::experts, Component::experts}})
    each_product(a, plan_in("fp8", {.parts = part}),
                 [&, part = part, some = some](const OperatorRow& row, const Linear&) {
                   CAPTURE(std::string(row.op.name));
                   const bool shared = part == NarrowPart::experts && row.op.component == Component::shared_experts;
                   CHECK(row.op.narrow == (row.op.component == some || shared));
                 });
}

TEST_CASE("the first and last blocks can stay in high precision, and each block is timed in its format", "[narrow]") {
  Arch a = even();
  a.layers = 9;
  const auto seconds = [&](const Plan& p) { return train(a, p, {}, cards()).bound.total().value; };
  const double wide = seconds(plan_in("bf16")), narrow = seconds(plan_in("nvfp4"));
  CHECK(narrow < 0.9 * wide);
  for (const auto& [first, last] : {std::pair<Count, Count>{0, 0}, {1, 0}, {0, 4}, {2, 3}, {8, 0}, {5, 4}, {7, 7}}) {
    CAPTURE(first, last);
    const Count stay = std::min<Count>(9, first + last);
    const Plan p = plan_in("nvfp4", {.first_wide = first, .last_wide = last});
    CHECK(seconds(p) == Approx(narrow + (wide - narrow) * static_cast<double>(stay) / 9).epsilon(1e-12));
    Count found = 0;
    each_product(a, p, [&](const OperatorRow& row, const Linear&) {
      if (row.op.name == "mlp.up" && !row.op.narrow) found += row.segment.repeats;
    });
    CHECK(found == stay);
  }
}

TEST_CASE("high-precision blocks slow down only the pipeline stages that contain them", "[narrow]") {
  Arch a = even();
  a.layers = 8;
  Layout l{.pp = 4, .schedule = Schedule::gpipe};
  for (const Count n : {2, 2, 2, 2}) l.stage_layers.push(n);
  Plan p = plan_in("fp8", {.first_wide = 1, .last_wide = 2});
  p.global_batch = 4;
  const auto stage_seconds = [&](const Plan& plan, Count stage) {
    const Prices prices = price(a, plan, l, cards().device);
    Seconds all;
    for_each_row(prices, {2 * stage, 2 * stage + 2, stage == 0, stage == 3},
                 [&](const LayerPrice& row, Count n) { all += static_cast<double>(n) * row.forward.bound.total(); });
    return all.value;
  };
  const Plan wide = plan_in("bf16"), narrow = plan_in("fp8");
  const auto mean = [&](Count stage) { return (stage_seconds(wide, stage) + stage_seconds(narrow, stage)) / 2; };
  CHECK(stage_seconds(p, 0) == Approx(mean(0)).epsilon(1e-12));
  for (const Count stage : {1, 2})
    CHECK(stage_seconds(p, stage) == Approx(stage_seconds(narrow, stage)).epsilon(1e-12));
  CHECK(stage_seconds(p, 3) == Approx(stage_seconds(wide, 3)).epsilon(1e-12));
  CHECK(train(a, p, l, cards()).bound.total() > train(a, narrow, l, cards()).bound.total());
}

TEST_CASE("layer kinds are disjoint and distinguish formats, experts and trained parts", "[narrow]") {
  Arch a = even_moe();
  a.layers = 12;
  a.moe.layers = LayerSet::every(1, 2, 12);
  a.local = {{64}, LayerSet::every(0, 3, 12)};
  a.linear_layers = LayerSet::every(5, 6, 12);
  const Frozen frozen{.parts = FreezePart::embedding, .layers = LayerSet::every(0, 4, 12)};
  const LowPrecision low_precision{.first_wide = 5, .last_wide = 4};
  const LayerKinds kinds = layer_kinds(a, frozen, low_precision);
  CHECK(kinds.size() <= most_kinds);
  LayerSet seen;
  for (const LayerKind& k : kinds)
    for (Count i = 0; i < 12; ++i) {
      if (!k.layers.contains(i)) continue;
      CHECK_FALSE(seen.contains(i));
      seen.insert(i);
      CHECK(k.wide == (i < 5 || i >= 8));
      CHECK(k.experts == a.moe.layers.contains(i));
      CHECK(k.linear == a.linear_layers.contains(i));
    }
  CHECK(seen == LayerSet::all(12));
}

TEST_CASE("adapters follow the precision of their block's matmuls, and frozen matrices are read as stored",
          "[narrow]") {
  Plan p = plan_in("fp8", {.first_wide = 1});
  p.lora_rank = 8;
  p.base_precision = *dtype("nf4");
  const Pricing pricing_of = pricing(p, Phase::training);
  each_product(even(), p, [&](const OperatorRow& row, const Linear& l) {
    if (row.segment.kind != SegmentKind::block) return;
    CAPTURE(std::string(row.op.name));
    CHECK(row.op.narrow == !row.segment.layer.wide);
    const Cost c = forward(row.op, pricing_of);
    const double input = static_cast<double>(l.rows * l.in) * (row.op.narrow ? 1 : 2);
    CHECK(c.moved.activations == input + 2.0 * static_cast<double>(l.rows * l.out));
    if (row.op.weights == Op::Weights::frozen) CHECK(c.moved.weights == real(tensor_bytes(*dtype("nf4"), l.out, l.in)));
    if (row.op.weights == Op::Weights::adapter)
      CHECK(c.moved.weights == static_cast<double>(l.in * l.out) * (row.op.narrow ? 1 : 2));
  });
}
