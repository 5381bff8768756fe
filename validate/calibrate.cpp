#include "validate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <thread>

#include "calc/block/program.hpp"
#include "calc/price.hpp"
#include "learn/learner.hpp"
#include "model/cpu/copy.hpp"
#include "model/cpu/make.hpp"
#include "presets/hardware_file.hpp"
#include "text/leading_number.hpp"

namespace llmcalc::validate {
namespace {

/// Problem sizes that are large enough to fill the device and small enough to take only seconds.
struct ProbeSizes {
  std::vector<MatmulSize> matmuls;  ///< projections, MLPs and heads
  MatmulSize few, more;             ///< a matmul with few rows, and the same one with more rows
  MatmulSize aligned{};             ///< GPU: a vocabulary-sized matmul whose output width is a multiple of 8
  MatmulSize layer{};               ///< GPU: a square matmul
  Count layers = 0;                 ///< number of layers, enough for their operands to exceed every cache
  Bytes cached;                     ///< total size of the tensors of an addition that fits in cache
  Count sequences, tokens;          ///< size of the attention probe
  Count rows;                       ///< size of the activation probe
};
ProbeSizes processor_sizes() {
  return {.matmuls = {{256, 768, 768},
                      {1024, 768, 768},
                      {1024, 3072, 768},
                      {1024, 768, 3072},
                      {512, 16384, 768},
                      {2048, 2048, 2048}},
          .few = {32, 256, 256},
          .more = {96, 256, 256},
          .cached = Bytes(Count{8} << 20),
          .sequences = 1,
          .tokens = 256,
          .rows = 256};
}
ProbeSizes gpu_sizes() {
  return {.matmuls = {{16384, 2304, 768},
                      {16384, 3072, 768},
                      {16384, 768, 3072},
                      {16384, 1600, 1600},
                      {8192, 8192, 2048},
                      {8192, 2048, 8192},
                      {8192, 8192, 8192}},
          .few = {1024, 2048, 2048},
          .more = {4096, 2048, 2048},
          .aligned = {8192, 12288, 768},
          .layer = {8192, 2048, 2048},
          .layers = 16,
          .cached = Bytes(Count{32} << 20),
          .sequences = 8,
          .tokens = 1024,
          .rows = 8192};
}

/// The fixed cost of a matmul in FLOPs, F_half, which dominates when there are few rows: t = (F + F_half) / rate
/// (Hockney & Jesshope 1981).
double half_matmul(model::Backend& b, const ProbeSizes& sizes, FlopsPerSecond rate, Seconds launch) {
  const double few = matmul_seconds(b, sizes.few).value, more = matmul_seconds(b, sizes.more).value;
  const double slope = (more - few) / static_cast<double>(sizes.more.rows - sizes.few.rows);
  const double seconds = few - static_cast<double>(sizes.few.rows) * slope - launch.value;
  return std::max(0.0, seconds * rate.value);
}

/// Fraction of its rate that a matmul retains when one extra output column breaks the 16-byte alignment of its rows.
double unaligned(model::Backend& b, const MatmulSize& aligned, Seconds launch) {
  if (aligned.rows == 0) return 1;
  MatmulSize odd = aligned;
  ++odd.out;
  const auto rate = [&](const MatmulSize& s) { return s.flops() / (matmul_seconds(b, s) - launch).value; };
  return std::min(1.0, rate(odd) / rate(aligned));
}

/// Exposed fraction of the shorter of compute and memory time (t = longer + exposed x shorter), for layers whose
/// operands are read from memory.
double exposed_in_layers(model::Backend& b, const ProbeSizes& sizes, const FormatRates& f, const Calibration& c) {
  Plan plan;
  plan.weight_precision = plan.precision = f.format;
  const Pricing p = pricing(plan, Phase::training);
  const Rates rates{.compute = f.median(),
                    .memory = c.copy,
                    .launch = c.among_others().forward,
                    .launch_backward = c.among_others().backward,
                    .half_matmul = f.half_matmul,
                    .cache_bandwidth = c.cache_bandwidth,
                    .cache = c.cache};
  Op op{};
  op.shape = Linear{.rows = sizes.layer.rows, .in = sizes.layer.in, .out = sizes.layer.out};
  double longer = 0, shorter = 0;
  for (const Direction d : {Direction::forward, Direction::backward_input, Direction::backward_weight}) {
    const Cost done = cost(op, p, d);
    const OpRates own = reached(op, done, p, d, rates);
    const double compute = (done.executed / own.compute).value, memory = done.moved.total() / own.memory.value;
    longer += std::max(compute, memory) + own.launch.value;
    shorter += std::min(compute, memory);
  }
  const double all = layers_seconds(b, sizes.layer.rows, sizes.layer.in, sizes.layers).value;
  return std::max(0.0, (all / static_cast<double>(sizes.layers) - longer) / shorter);
}

/// A model whose tensors exceed a CPU's caches.
Case middling_case(DType format) {
  Case c{"calibration", model::small_arch(2048, 448), {}};
  Arch& a = c.arch;
  a.layers = 4;
  a.hidden = a.embedding_width = 512;
  a.heads = a.kv_heads = 8;
  a.head_dim = 64;
  a.mlp_width = 1536;
  c.plan.seq = 224;
  c.plan.micro_batch = c.plan.global_batch = 2;
  c.plan.weight_precision = c.plan.precision = format;
  return c;
}
template <typename F>
void for_each_product(const Case& c, const F& f) {
  for_each_operator(c.arch, c.plan, {}, training_step(c.plan), [&](const OperatorRow& row) {
    if (std::holds_alternative<Linear>(row.op.shape)) f(row);
  });
}
/// Predicted seconds of a step's matmuls, forward and backward.
double predicted_products(const Case& c, const Device& device) {
  const Rates rates = estimated_rates(device, c.plan);
  const Pricing p = pricing(c.plan, Phase::training);
  double seconds = 0;
  for_each_product(c, [&](const OperatorRow& row) {
    const Time ahead = operator_time(row.op, p, Direction::forward, rates), back = backward_time(row.op, p, rates);
    seconds += static_cast<double>(row.segment.repeats) * (ahead.total() + back.total()).value;
  });
  return seconds;
}
double measured_products(const Case& c, const Device& device, const Where& where) {
  constexpr int repeats = 3;  // number of runs in each round
  std::set<std::string> products;
  for_each_product(c, [&](const OperatorRow& row) { products.emplace(row.op.name); });
  double seconds = 0;
  for (const Timing& t : timed_training(c, device, repeats, where))
    if (products.contains(t.op)) seconds += t.measured;
  return seconds;
}

/// The exposed fraction of memory time within a training step, where other operators run between the matmuls and evict
/// their operands. It is interpolated between predictions with zero and full exposure.
double exposed_in_step(const Where& where, const Calibration& c, DType format) {
  const Case model = middling_case(format);
  Device device = read_hardware_file(hardware_file(c, "measured", "today"), "the calibration").cluster.device;
  const double measured = measured_products(model, device, where);
  double predicted[2] = {};
  for (const std::size_t all : {0, 1}) {
    device.achieved.exposed = for_each_format(static_cast<double>(all));
    predicted[all] = predicted_products(model, device);
  }
  return std::max(0.0, (measured - predicted[0]) / (predicted[1] - predicted[0]));
}

FormatRates rates_of(model::Backend& b, const ProbeSizes& sizes, DType format, const Calibration& c) {
  FormatRates r;
  r.format = format;
  r.flash = core_rates(b, AttentionImpl::flash, sizes.sequences, sizes.tokens);
  r.naive = core_rates(b, AttentionImpl::naive, sizes.sequences, sizes.tokens);
  r.plain = plain_core_rates(b, sizes.sequences, sizes.tokens);
  for (const MatmulSize& s : sizes.matmuls)
    r.matmuls.push_back({s, FlopsPerSecond(s.flops() / (matmul_seconds(b, s) - c.among_others().forward).value)});
  r.half_matmul = half_matmul(b, sizes, r.median(), c.among_others().forward);
  r.unaligned = unaligned(b, sizes.aligned, c.among_others().forward);
  return r;
}

/// Measures the bandwidth of an in-cache addition, and the size of the largest addition that reaches four fifths of it.
/// Launch time, which is counted separately, is a large part of an addition's time on a GPU.
void measure_cache(Calibration& c, model::Backend& b, Bytes cached) {
  c.cache = cached;
  c.cache_bandwidth = addition_bandwidth(b, c.cache, c.among_others().forward);
  for (Bytes larger = 2 * c.cache; larger.value <= Count{256} << 20; larger = 2 * larger) {
    if (addition_bandwidth(b, larger, c.among_others().forward).value < 0.8 * c.cache_bandwidth.value) return;
    c.cache = larger;
  }
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

int processor_threads() { return static_cast<int>(std::thread::hardware_concurrency()); }

std::string processor_title(const std::string& name, int threads) {
  return fmt::format("{}, {} threads", name, threads);
}

std::string rate_text(FlopsPerSecond r) { return fmt::format("{:.4g} GFLOP/s", r.value / 1e9); }

/// Rounds to four significant digits.
double rounded(double x) { return leading_real(fmt::format("{:.4g}", x)); }

std::vector<double> sorted(const std::vector<MatmulRate>& all) {
  std::vector<double> rates;
  for (const MatmulRate& m : all) rates.push_back(m.rate.value);
  std::sort(rates.begin(), rates.end());
  return rates;
}

/// A stage of a round, and the fraction of the round's time that it takes on an otherwise idle machine.
struct RoundStage {
  const char* what;
  double share;
};
constexpr std::array stages{RoundStage{"copies", 0.1},
                            RoundStage{"small tensors", 0.05},
                            RoundStage{"activations", 0.05},
                            RoundStage{"matmuls and attention in float32", 0.15},
                            RoundStage{"matmuls and attention in bfloat16", 0.2},
                            RoundStage{"matmuls between other operators", 0.45}};

/// Measures a machine in several rounds.
class Measurer {
 public:
  Measurer(const Where& where, const Told& told) : where_(where), told_(told) {}

  Calibration round(int number) {
    round_ = number;
    stage_ = 0;
    behind_ = 0;
    Calibration c = machine();
    next();
    constexpr Count large = Count{1} << 29;
    c.copy = where_.on_processor ? BytesPerSecond(model::copy_bandwidth(large)) : copy_bandwidth(*f32_, Bytes(large));
    next();
    c.launch = where_.on_processor ? operator_seconds(*f32_) : OperatorSeconds{forward_operator_seconds(*f32_), {}};
    if (!where_.on_processor) c.recorded = recorded_operator_seconds(*f32_);
    measure_cache(c, *f32_, sizes_.cached);
    next();
    c.functions = function_rate(*f32_, sizes_.rows);
    next();
    c.formats.push_back(rates_of(*f32_, sizes_, dtypes::fp32, c));
    next();
    c.formats.push_back(rates_of(*bf16_, sizes_, dtypes::bf16, c));
    next();
    refuse_unless_positive(c);
    for (FormatRates& f : c.formats)
      f.exposed = where_.on_processor ? exposed_in_step(where_, c, f.format)
                                      : exposed_in_layers(f.format == dtypes::fp32 ? *f32_ : *bf16_, sizes_, f, c);
    return c;
  }

  /// Device memory that the process uses outside tensors. Measured after all rounds, because kernels are loaded on
  /// first use.
  Bytes overhead() const {
    model::Instruments* device = f32_->instruments();
    return device != nullptr ? device->memory(Bytes()).overhead : Bytes();
  }

 private:
  Calibration machine() const {
    Calibration c;
    c.device = where_.on_processor ? processor_name() : std::string(f32_->name());
    if (where_.on_processor) c.threads = processor_threads();
    c.memory = f32_->capacity();
    return c;
  }
  void next() {
    const RoundStage& s = stages.at(stage_++);
    told_(fmt::format("round {} of {}: {}", round_ + 1, rounds, s.what), (round_ + behind_) / rounds);
    behind_ += s.share;
  }

  const Where& where_;
  const Told& told_;
  ProbeSizes sizes_ = where_.on_processor ? processor_sizes() : gpu_sizes();
  std::unique_ptr<model::Backend> f32_ = where_.make(model::Number::f32), bf16_ = where_.make(model::Number::bf16);
  int round_ = 0;
  std::size_t stage_ = 0;
  double behind_ = 0;  ///< completed fraction of this round
};

}  // namespace

FlopsPerSecond FormatRates::best() const { return FlopsPerSecond(sorted(matmuls).back()); }
FlopsPerSecond FormatRates::median() const { return FlopsPerSecond(sorted(matmuls)[matmuls.size() / 2]); }

Calibration calibrated(const Where& where, const Told& told) {
  Measurer measurer(where, told);
  std::vector<Calibration> all;
  for (int i = 0; i < rounds; ++i) all.push_back(measurer.round(i));
  Calibration c = median_of(all);
  c.overhead = measurer.overhead();
  refuse_contradictions(c);
  return c;
}

std::string machine_title(const Where& where) {
  if (where.on_processor) return processor_title(processor_name(), processor_threads());
  return std::string(where.make(model::Number::f32)->name());
}

bool calibrated_here(const HardwareCard& card, const Where& where) {
  return card.cluster.device.achieved.present && card.title == machine_title(where);
}

json::Value hardware_file(const Calibration& c, const std::string& name, const std::string& date) {
  const std::string title = c.threads > 0 ? processor_title(c.device, c.threads) : c.device;
  json::Value matmul, share, half, odd, exposed, flash, flash_backward, plain, plain_backward, naive, naive_backward,
      sources;
  for (const FormatRates& f : c.formats) {
    const std::string key(f.format.name());
    matmul[key] = rate_text(f.best());
    share[key] = rounded(f.median().value / f.best().value);
    half[key] = rounded(f.half_matmul);
    odd[key] = rounded(f.unaligned);
    exposed[key] = rounded(f.exposed);
    flash[key] = rate_text(f.flash.forward);
    flash_backward[key] = rate_text(f.flash.backward);
    if (f.plain.forward.value > 0) {
      plain[key] = rate_text(f.plain.forward);
      plain_backward[key] = rate_text(f.plain.backward);
    }
    naive[key] = rate_text(f.naive.forward);
    naive_backward[key] = rate_text(f.naive.backward);
    sources["matmul." + key] = fmt::format("measured: best of {} sizes", f.matmuls.size());
  }
  sources["cache"] = "measured: largest addition at in-cache bandwidth";
  sources["memory.capacity"] = "reported by the system";
  sources["memory.bandwidth"] = "measured: copy, bytes read plus bytes written";
  json::Value h{{"name", name},
                {"title", title},
                {"memory",
                 {{"capacity", fmt::format("{} B", c.memory.value)},
                  {"bandwidth", fmt::format("{:.4g} GB/s", c.copy.value / 1e9)}}},
                {"matmul", matmul},
                {"cache", fmt::format("{} B", c.cache.value)},
                {"achieved",
                 {{"matmul", share},
                  {"memory", 1.0},
                  {"attention", flash},
                  {"attention_backward", flash_backward},
                  {"naive_attention", naive},
                  {"naive_attention_backward", naive_backward},
                  {"half_matmul", half},
                  {"unaligned", odd},
                  {"exposed", exposed},
                  {"functions", rounded(c.functions)},
                  {"cache", fmt::format("{:.4g} GB/s", c.cache_bandwidth.value / 1e9)},
                  {"how", fmt::format("{}{}, {}", calibrated_on, title, date)}}},
                {"sources", sources}};
  const auto seconds = [&](const char* key, Seconds t) {
    if (t.value > 0) h["achieved"][key] = fmt::format("{:.4g} us", t.value * 1e6);
  };
  seconds("launch", c.launch.forward);
  seconds("launch_backward", c.launch.backward);
  seconds("recorded", c.recorded.forward);
  seconds("recorded_backward", c.recorded.backward);
  if (!plain.is_null()) {
    h["achieved"]["plain_attention"] = plain;
    h["achieved"]["plain_attention_backward"] = plain_backward;
  }
  if (c.overhead != Bytes()) h["achieved"]["overhead"] = fmt::format("{} B", c.overhead.value);
  return h;
}

}  // namespace llmcalc::validate
