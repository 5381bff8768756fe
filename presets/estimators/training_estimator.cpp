#include "presets/estimators/training_estimator.hpp"

#include <algorithm>
#include <cmath>

namespace llmcalc {

namespace {
using P = TrainingParameter;
constexpr std::string_view boost =
    "peaks assume the boost clock, which the power limit does not allow under load (NVIDIA's datasheets)";
constexpr std::string_view volta_paper = "cuBLAS on V100: 83 of 125 TFLOP/s (Markidis et al. 2018, arXiv:1803.04014)";
constexpr std::string_view flash_paper = "FlashAttention-2 (arXiv:2307.08691), FlashAttention-3 (arXiv:2407.08608)";
constexpr std::string_view pytorch = "5 to 10 us of host time per PyTorch operator (arXiv:1912.01703, section 6)";
constexpr std::string_view copies = "STREAM-like copies reach 0.8 to 0.92 of the datasheet bandwidth";
constexpr std::string_view nccl = "nccl-tests: bus bandwidth of 0.75 to 0.95 of the link bandwidth";
constexpr std::string_view bytes_counted = "bytes of each stack's kernels, counted from its code";
}  // namespace

// clang-format off
const std::array<ParameterCard, training_parameter_count> training_parameter_cards{{
    {"matmul.volta",         0.66, 0.4, 0.95, "fraction of the peak in large matmuls: Volta (one source)", volta_paper},
    {"matmul.ampere",        0.73, 0.4, 0.95, "the same: A100", boost},
    {"matmul.hopper",        0.65, 0.4, 0.95, "the same: Hopper", boost},
    {"matmul.blackwell",     0.50, 0.3, 0.95, "the same: data-center Blackwell", boost},
    {"matmul.consumer",      0.90, 0.5, 1.00, "the same: GeForce and RTX, whose peak counts FP32 accumulation (one source)", boost},
    {"matmul.other",         0.65, 0.3, 0.95, "the same: other devices", "chosen: as for Hopper"},
    {"matmul.fp8",           0.90, 0.6, 1.00, "efficiency in 8 bits relative to 16 bits", "chosen: casts and scales take part of a matmul's time"},
    {"matmul.fp4",           0.90, 0.5, 1.00, "efficiency in 4 bits relative to 16 bits", "chosen: as in 8 bits"},
    {"flash.1",              0.42, 0.2, 0.60, "fraction of the peak in attention: FlashAttention 1, xformers", flash_paper},
    {"flash.2-ampere",       0.50, 0.3, 0.75, "the same: FlashAttention 2, except on Hopper", flash_paper},
    {"flash.2-hopper",       0.30, 0.15, 0.5, "the same: FlashAttention 2 on Hopper, without Hopper's asynchronous matmuls", flash_paper},
    {"flash.vendor",         0.58, 0.3, 0.80, "the same: cuDNN, TransformerEngine, FlashAttention 3", flash_paper},
    {"flash.backward",       0.75, 0.5, 1.00, "backward rate of attention relative to its forward rate", flash_paper},
    {"half_matmul",          1e-5, 0,   6e-5, "time at the peak rate of a matmul that runs at half the rate of a large one", "Hockney & Jesshope 1981; tiles and waves of cuBLAS, on more multiprocessors in faster devices"},
    {"exposed",              0.3,  0,   1.00, "non-overlapping fraction of the shorter of a matmul's compute and memory times", "prologue and epilogue of each tile (CUTLASS)"},
    {"naive_products",       0.7,  0.3, 1.00, "rate of the matmuls of unfused attention relative to other matmuls", "chosen: batched matmuls as narrow as a head fill few tiles"},
    {"memory",               0.85, 0.7, 0.90, "fraction of the memory bandwidth", copies},
    {"elementwise.megatron", 1.0,  0.6, 2.50, "ratio of bytes moved by element-wise kernels to bytes counted: Megatron-LM", bytes_counted},
    {"elementwise.tuned",    1.0,  0.6, 2.50, "the same: tuned", bytes_counted},
    {"elementwise.eager",    1.5,  0.6, 4.00, "the same: eager", bytes_counted},
    {"elementwise.unfused",  2.5,  1.0, 6.00, "the same: unfused", bytes_counted},
    {"elementwise.compiled", 1.0,  0.6, 2.50, "the same: compiled", bytes_counted},
    {"norm",                 11,   4,   25,   "bytes moved by an RMSNorm of separate PyTorch operators relative to a fused RMSNorm", "38 bytes per element in forward and 50 in backward, versus 4 and 6"},
    {"scores",               1.2,  0.6, 3.00, "ratio of bytes moved by unfused attention to bytes counted for its scores", bytes_counted},
    {"kernel.tuned",         6e-6, 1e-6, 2e-5, "host time per operator: tuned and compiled", pytorch},
    {"kernel.torch",         3.5e-5, 5e-6, 6e-5, "the same: PyTorch modules, about four kernels per operator", pytorch},
    {"kernel.deepspeed",     3e-5, 5e-6, 8e-5, "the same: with DeepSpeed's hooks", pytorch},
    {"collective",           6e-6, 0,   3e-5, "host time to start a collective, per tensor-parallel rank", pytorch},
    {"launch",               4e-6, 1e-6, 8e-6, "time to start and end a kernel on the device", "back-to-back empty kernels: 2 to 5 us"},
    {"link",                 0.80, 0.5, 0.95, "fraction of the link bandwidth in collectives: inside a node", nccl},
    {"network",              0.75, 0.3, 0.95, "the same: between nodes", nccl},
    {"start",                3e-5, 0,   8e-5, "startup time of a collective", "small messages in nccl-tests: 20 to 50 us"},
    {"round.inside",         6e-6, 1e-6, 2e-5, "time of one ring round: inside a node", "NCCL's base latencies (src/graph/tuning.cc)"},
    {"round.between",        1e-5, 2e-6, 4e-5, "the same: between nodes", "NCCL's base latencies (src/graph/tuning.cc)"},
    {"hidden.tensor",        0.6,  0,   1.00, "fraction of tensor-parallel communication that overlaps, if the software overlaps it", "Megatron-Core --tp-comm-overlap: the first and last chunks cannot overlap"},
    {"hidden.data",          0.6,  0,   1.00, "fraction of the shorter of compute and data-parallel communication that overlap hides", "both share memory bandwidth and multiprocessors (arXiv:2104.04473, 5.9)"},
    {"send",                 0.4,  0,   1.00, "exposed fraction of a message between pipeline stages: 1F1B", "chosen: Megatron-LM sends and receives together between slots"},
    {"send.chunks",          0.15, 0,   1.00, "the same: several chunks per rank", "chosen: their messages overlap the compute of other chunks (Megatron-Core --overlap-p2p-communication)"},
    {"experts",              0.70, 0.4, 1.00, "rate of expert matmuls relative to other matmuls", "chosen: grouped matmuls of unequal sizes leave tiles empty"},
    {"step",                 1e-2, 0,   5e-2, "non-overlapping host time per step", "chosen: data, clipping, logging"},
}};
// clang-format on

Silicon silicon_of(const HardwareCard& card) {
  const auto is = [&](std::string_view name) { return card.architecture.find(name) != std::string::npos; };
  if (is("Volta")) return Silicon::volta;
  if (is("GA100")) return Silicon::ampere;
  if (is("Hopper")) return Silicon::hopper;
  if (is("GB10B") || is("Blackwell GB2") || card.architecture == "Blackwell GB10" || is("Ada") || is("Ampere"))
    return Silicon::consumer;
  return is("Blackwell") ? Silicon::blackwell : Silicon::other;
}

namespace {

double matmul_share(const TrainingParameters& p, Silicon s) {
  constexpr std::array by_silicon{P::matmul_volta,     P::matmul_ampere,   P::matmul_hopper,
                                  P::matmul_blackwell, P::matmul_consumer, P::matmul_other};
  return p[by_silicon[static_cast<std::size_t>(s)]];
}

/// Achieved fraction of the peak in flash attention. No kernel is assumed to be slower than an older kernel on the same
/// device. FlashAttention 1 was measured on the A100; on Hopper and Blackwell, its ratio to FlashAttention 2 is assumed
/// to be the same.
double flash_share_of(const TrainingParameters& p, Silicon s, CoreKernel k) {
  const bool young = s == Silicon::hopper || s == Silicon::blackwell;
  const double second = p[young ? P::flash_2_hopper : P::flash_2_ampere];
  if (k == CoreKernel::flash_1) return second * std::min(1.0, p[P::flash_1] / p[P::flash_2_ampere]);
  return k == CoreKernel::vendor && young ? std::max(p[P::flash_vendor], second) : second;
}

double elementwise(const TrainingParameters& p, Fusion f) {
  constexpr std::array by_fusion{P::elementwise_megatron, P::elementwise_tuned,   P::elementwise_compiled,
                                 P::elementwise_eager,    P::elementwise_unfused, P::elementwise_tuned};
  return p[by_fusion[static_cast<std::size_t>(f)]];
}

Seconds kernel(const TrainingParameters& p, const TrainingStack& stack) {
  const Fusion f = stack.fusion;
  if (f == Fusion::native || stack.graphs) return {};
  if (f == Fusion::unfused) return Seconds(p[P::kernel_deepspeed]);
  return Seconds(p[f == Fusion::tuned || f == Fusion::compiled ? P::kernel_tuned : P::kernel_torch]);
}

/// Sets matmul rates. For each format, either all rates are measured or all are estimated.
void put_products(const TrainingParameters& p, const HardwareCard& card, const MeasuredRates& measured, Achieved& a) {
  const double share = matmul_share(p, silicon_of(card));
  for (std::size_t i = 0; i < peak_count; ++i) {
    if (measured.products[i]) continue;
    const auto format = static_cast<Peak>(i);
    a.matmul[i] = share * (format == Peak::fp8 ? p[P::matmul_fp8] : format == Peak::fp4 ? p[P::matmul_fp4] : 1);
    a.half_matmul[i] = p[P::half_matmul] * card.cluster.device.peaks[i].value;
    a.exposed[i] = p[P::exposed];
  }
}

void put_attention(const TrainingParameters& p, const HardwareCard& card, CoreKernel core, Achieved& a) {
  if (core == CoreKernel::unfused || core == CoreKernel::fused_softmax) return;
  const double share = flash_share_of(p, silicon_of(card), core);
  for (std::size_t i = 0; i < a.flash.size(); ++i) {
    if (a.flash[i].forward.value > 0) continue;  // measured on this device
    const FlopsPerSecond forward = share * card.cluster.device.peaks[i];
    a.flash[i] = {forward, p[P::flash_backward] * forward};
  }
}

void put_links(const TrainingParameters& p, Achieved& a) {
  a.links = {.inside = p[P::link],
             .between = p[P::network],
             .round_inside = Seconds(p[P::round_inside]),
             .round_between = Seconds(p[P::round_between]),
             .start = Seconds(p[P::start]),
             .trees = true};
}

KernelCounts kernel_counts(const TrainingStack& s) {
  const bool eager = s.fusion == Fusion::eager || s.fusion == Fusion::unfused;
  return {.naive_core = s.core == CoreKernel::unfused ? 10.0 : 6.0,
          .norm = s.writes_norms ? 8.0 : 1.0,
          .rope = eager ? 8.0 : 1.0,
          .route = 8};
}

}  // namespace

Achieved training_rates(const TrainingParameters& p, const HardwareCard& card, const TrainingStack& stack) {
  const MeasuredRates measured = card.measured.value_or(MeasuredRates{});
  Achieved a = measured.rates;
  a.present = true;
  put_links(p, a);
  if (measured.links) a.links.inside = a.links.between = measured.rates.links.inside;
  put_products(p, card, measured, a);
  put_attention(p, card, stack.core, a);
  if (!measured.memory) a.memory = p[P::memory];
  if (a.launch.value == 0) a.launch = Seconds(p[P::launch]);
  a.recorded = a.recorded_backward = {};  // these stacks launch kernels one by one
  a.software = {
      .elementwise = elementwise(p, stack.fusion),
      .norm = stack.writes_norms ? p[P::norm] : elementwise(p, stack.fusion),
      .scores = p[P::scores],
      .permuted = 3 * elementwise(p, stack.fusion),
      .kernels = kernel_counts(stack),
      .loops_experts = stack.loops_experts,
      .experts = p[P::experts],
      .naive_products = p[P::naive_products],
      .kernel = kernel(p, stack),
      .collective = Seconds(stack.fusion == Fusion::native || stack.graphs ? 0 : p[P::collective]),
      .step = Seconds(p[P::step]),
      .hidden_tensor = stack.tensor_collectives == TensorCollectives::overlapped ? p[P::hidden_tensor] : 0,
      .hidden_by_weights = stack.tensor_collectives == TensorCollectives::waited_for ? 0 : p[P::hidden_tensor],
      .hidden_experts = stack.hides_experts ? p[P::hidden_tensor] : 0,
      .hidden_overlapped = stack.hides_data ? p[P::hidden_data] : 0,
      .waits_to_send = p[P::send],
      .waits_to_send_chunks = p[P::send_chunks]};
  return a;
}

EstimateClass estimate_class(const Arch& arch, const HardwareCard& card, bool assumed) {
  if (arch.has_experts()) return EstimateClass::experts;
  return assumed || silicon_of(card) == Silicon::other ? EstimateClass::assumed : EstimateClass::dense;
}

double rescale(double measured_scale) { return std::sqrt(measured_scale); }

TrainingEstimator read_training_estimator(const json::Value& value, const std::string& where) {
  return read_estimator<TrainingParameters, EstimateClass>(value, where, training_parameter_cards);
}

json::Value training_estimator_json(const TrainingEstimator& e) {
  return estimator_json("training", "training step estimator", training_parameter_cards, e);
}

const TrainingEstimator& training_estimator() {
  static const TrainingEstimator fitted = [] {
    const EstimateFile file = builtin_estimate("training");
    return read_training_estimator(file.value, file.where);
  }();
  return fitted;
}

}  // namespace llmcalc
