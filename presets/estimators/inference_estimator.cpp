#include "presets/estimators/inference_estimator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "presets/estimators/training_estimator.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {
using I = InferenceParameter;
constexpr std::string_view stream = "STREAM-like copies reach 0.8 to 0.95 of the datasheet bandwidth";
constexpr std::string_view clocks = "peaks assume the boost clock, which the power limit does not allow under load";
constexpr std::string_view trained =
    "training on RTX 4090 and RTX PRO 6000 reaches 0.9 of the peak (presets/estimates/training.json); less if limited "
    "by power";
constexpr std::string_view vendors = "the vendor's datasheet, whose peaks few kernels reach";
constexpr std::string_view empty_kernels = "back-to-back empty kernels: 2 to 5 us; 1 to 2 us from a recorded graph";
constexpr std::string_view host_launch =
    "5 to 10 us of host time for each of the few PyTorch operators per model operator";
constexpr std::string_view per_sequence = "chosen: bookkeeping, sampling parameters and detokenization of a sequence";
constexpr std::string_view per_request = "chosen: a web server, a tokenizer and a queue take milliseconds each";
constexpr std::string_view cold_start = "chosen: kernels are compiled, tuned or loaded at their first use";
constexpr std::string_view scans = "chosen: gates, convolution, and a chunked scan in several kernels";
constexpr std::string_view host_loop = "scheduling, sampling and detokenization in an engine's loop: 1 to 5 ms";
constexpr std::string_view flash_source = "FlashAttention-2 (arXiv:2307.08691), FlashAttention-3 (arXiv:2407.08608)";
constexpr std::string_view host_staging =
    "assumed below 22 of 63 GB/s, which NCCL (src/graph/topo.h) expects between sockets of a host with PCI Express "
    "5.0: data staged by the host is copied twice";
constexpr std::string_view small_messages =
    "all-reduces of kilobytes: 8 to 15 us with an engine's own kernels, more with NCCL";
}  // namespace

// clang-format off
const std::array<ParameterCard, inference_parameter_count> inference_parameter_cards{{
    {"memory.ampere",     0.81, 0.6, 0.95, "fraction of the memory bandwidth: A100 and older data-center GPUs", stream},
    {"memory.hopper",     0.82, 0.6, 0.95, "the same: Hopper", stream},
    {"memory.blackwell",  0.80, 0.6, 0.95, "the same: data-center Blackwell", stream},
    {"memory.consumer",   0.90, 0.6, 0.98, "the same: GeForce, RTX and similar", stream},
    {"memory.unified",    0.81, 0.6, 0.95, "the same: memory shared with the CPU (GB10, Jetson, Strix Halo)", stream},
    {"memory.apple",      0.85, 0.6, 0.95, "the same: Apple", stream},
    {"memory.neuron",     0.60, 0.3, 0.95, "the same: AWS Neuron (one source)", stream},
    {"memory.gaudi",      0.75, 0.5, 0.95, "the same: Intel Gaudi", stream},
    {"memory.cdna",       0.75, 0.4, 0.95, "the same: AMD Instinct", stream},
    {"memory.rdna",       0.75, 0.4, 0.95, "the same: AMD Radeon", stream},
    {"memory.other",      0.75, 0.5, 0.95, "the same: other devices", stream},
    {"matmul.ampere",     0.70, 0.4, 0.95, "fraction of the peak in large matmuls: A100", clocks},
    {"matmul.hopper",     0.60, 0.3, 0.95, "the same: Hopper", clocks},
    {"matmul.blackwell",  0.50, 0.2, 0.95, "the same: data-center Blackwell", clocks},
    {"matmul.consumer",   0.80, 0.3, 0.98, "the same: GeForce, RTX and similar", trained},
    {"matmul.unified",    0.50, 0.1, 0.95, "the same: processors of AMD with integrated graphics (one source)", vendors},
    {"matmul.apple",      0.80, 0.5, 0.98, "the same: Apple", vendors},
    {"matmul.neuron",     0.30, 0.1, 0.90, "the same: AWS Neuron (one source)", vendors},
    {"matmul.gaudi",      0.55, 0.2, 0.90, "the same: Intel Gaudi", vendors},
    {"matmul.cdna",       0.50, 0.1, 0.95, "the same: AMD Instinct", vendors},
    {"matmul.rdna",       0.50, 0.1, 0.95, "the same: AMD Radeon", vendors},
    {"matmul.other",      0.50, 0.1, 0.95, "the same: other devices", vendors},
    {"narrow",            0.85, 0.4, 1.00, "efficiency in 8 and 4 bits relative to 16 bits", "chosen: casts and scales take part of a matmul's time"},
    {"narrow.cdna",       0.60, 0.1, 1.00, "the same: AMD Instinct", "chosen: younger kernels than those of other vendors"},
    {"weight_only",       0.80, 0.4, 1.00, "relative efficiency with weights dequantized before multiplication", "kernels unpack weights in addition to their arithmetic"},
    {"own_products",      0.50, 0.2, 1.00, "relative efficiency of an engine's own kernels", "chosen: llama.cpp kernels unpack quantized blocks in addition to their arithmetic"},
    {"vulkan",            0.70, 0.2, 1.00, "relative efficiency of matmuls and attention in Vulkan shaders (one source)", "chosen: shaders use matrix units through an extension that not all drivers have"},
    {"exposed",           0.3,  0,   1.00, "non-overlapping fraction of the shorter of a matmul's compute and memory times", "prologue and epilogue of each tile (CUTLASS)"},
    {"flash",             0.35, 0.1, 0.80, "fraction of the peak in attention", flash_source},
    {"flash.own",         0.25, 0.02, 0.80, "the same with an engine's own kernels", "chosen: below FlashAttention, which uses tensor cores fully"},
    {"experts",           0.50, 0.2, 1.00, "rate of expert matmuls relative to other matmuls", "chosen: grouped matmuls of unequal sizes leave tiles empty"},
    {"scan",              20, 1, 150, "kernels per linear-attention layer of a prompt, which is processed in chunks", scans},
    {"kernel.recorded",   1.5e-6, 2e-7, 6e-6, "time to start and end a kernel in a decode step: recorded graph", empty_kernels},
    {"kernel.vllm",       4e-6, 1e-6, 4e-5, "the same: prompts under vLLM, which replays graphs of their parts", empty_kernels},
    {"kernel.prompt",     1e-5, 1e-6, 8e-5, "the same: prompts under other engines that record only decode steps", host_launch},
    {"kernel.tensorrt",   1e-5, 1e-6, 8e-5, "the same: prompts under TensorRT-LLM with PyTorch", host_launch},
    {"kernel.compiled",   4e-6, 1e-6, 1e-5, "the same: compiled programs", empty_kernels},
    {"kernel.cuda",       2e-6, 2e-7, 1e-5, "the same: CUDA graphs of llama.cpp", empty_kernels},
    {"kernel.metal",      5e-6, 1e-6, 2e-5, "the same: Metal", empty_kernels},
    {"kernel.local",      5e-6, 1e-6, 2e-5, "the same: kernel by kernel from C++ or a compiler, on other devices", empty_kernels},
    {"kernel.eager",      3e-5, 8e-6, 8e-5, "the same: PyTorch, operator by operator (one source)", host_launch},
    {"step.vllm",         1.5e-3, 0, 1e-2, "non-overlapping time per forward pass: vLLM", host_loop},
    {"step.vllm-legacy",  3.0e-3, 0, 2e-2, "the same: vLLM before engine V1 (one source)", host_loop},
    {"step.tensorrt",     2.0e-3, 0, 1e-2, "the same: TensorRT-LLM", host_loop},
    {"step.tensorrt-legacy", 5e-4, 0, 5e-3, "the same: C++ sessions of TensorRT-LLM before 1.0", host_loop},
    {"step.server",       2.0e-3, 0, 1e-2, "the same: other servers", host_loop},
    {"step.neuron",       4.0e-3, 0, 2e-2, "the same: compiled programs of other accelerators", host_loop},
    {"sequence.vllm",     2e-5, 0, 3e-4, "non-overlapping time per sequence and pass: vLLM", per_sequence},
    {"sequence.tensorrt", 1e-5, 0, 3e-4, "the same: TensorRT-LLM", per_sequence},
    {"sequence.server",   1e-5, 0, 3e-4, "the same: other servers", per_sequence},
    {"request.vllm",      2.0e-2, 0, 2e-1, "time per request outside forward passes (network, tokenizer, engine queue): vLLM", per_request},
    {"request.tensorrt",  2.0e-2, 0, 2e-1, "the same: TensorRT-LLM", per_request},
    {"request.server",    2.0e-2, 0, 2e-1, "the same: other servers", per_request},
    {"first-wave.vllm",   0.2, 0, 5, "delay of the first requests of clients that start together: vLLM", cold_start},
    {"first-wave.tensorrt", 0.2, 0, 5, "the same: TensorRT-LLM", cold_start},
    {"first-wave.server", 0.2, 0, 5, "the same: other servers", cold_start},
    {"link",              0.75, 0.4, 0.95, "fraction of the link bandwidth in collectives", "nccl-tests: bus bandwidth of 0.75 to 0.95 of the link bandwidth"},
    {"link.host",         0.25, 0.10, 0.90, "the same through the host: PCI Express without direct access", host_staging},
    {"link.host-tensorrt", 0.25, 0.02, 0.90, "the same under TensorRT-LLM (one source)", host_staging},
    {"start",             6e-6, 1e-6, 3e-5, "startup time of a collective over a switch or direct links", small_messages},
    {"start.library",     2e-5, 5e-6, 6e-5, "the same with a collective library", small_messages},
    {"start.host",        3e-5, 5e-6, 1e-4, "the same through the host", small_messages},
}};
// clang-format on

Chip chip_of(const HardwareCard& card) {
  const auto is = [&](std::string_view name) { return card.architecture.find(name) != std::string::npos; };
  if (card.vendor == "Apple") return Chip::apple;
  if (is("Neuron")) return Chip::neuron;
  if (is("Gaudi")) return Chip::gaudi;
  if (card.memory_type.starts_with("LPDDR")) return Chip::unified;
  if (is("CDNA")) return Chip::cdna;
  if (is("RDNA")) return Chip::rdna;
  switch (silicon_of(card)) {
    case Silicon::volta:
    case Silicon::ampere:
      return Chip::ampere;
    case Silicon::hopper:
      return Chip::hopper;
    case Silicon::blackwell:
      return Chip::blackwell;
    case Silicon::consumer:
      return Chip::consumer;
    case Silicon::other:
      return Chip::other;
  }
  return Chip::other;
}

namespace {

I memory_parameter(Chip c) {
  constexpr std::array by_chip{I::memory_ampere,  I::memory_hopper, I::memory_blackwell, I::memory_consumer,
                               I::memory_unified, I::memory_apple,  I::memory_neuron,    I::memory_gaudi,
                               I::memory_cdna,    I::memory_rdna,   I::memory_other};
  return by_chip[static_cast<std::size_t>(c)];
}

I matmul_parameter(Chip c) {
  constexpr std::array by_chip{I::matmul_ampere,  I::matmul_hopper, I::matmul_blackwell, I::matmul_consumer,
                               I::matmul_unified, I::matmul_apple,  I::matmul_neuron,    I::matmul_gaudi,
                               I::matmul_cdna,    I::matmul_rdna,   I::matmul_other};
  return by_chip[static_cast<std::size_t>(c)];
}

/// Parameter of large matmuls. NVIDIA's devices that share memory with the CPU have the cores of its consumer cards.
I matmul_parameter(const HardwareCard& card) {
  const Chip c = chip_of(card);
  return matmul_parameter(c == Chip::unified && card.vendor == "NVIDIA" ? Chip::consumer : c);
}

/// Whether a card is a GeForce of the 30 series or later, such as "rtx-4090" or "RTX 4080 Laptop". The stated peaks
/// of these cards are for FP32 accumulation, which halves their rate. Excludes RTX 4000 Ada and RTX 5000 Ada, where
/// FP32 accumulation does not halve the rate.
bool is_geforce(const HardwareCard& card) {
  const std::string name = spelling(card.name);
  constexpr std::array<std::string_view, 3> series{"rtx30", "rtx40", "rtx50"};
  return std::any_of(series.begin(), series.end(), [&](std::string_view s) {
    const std::size_t at = name.find(s);
    return at != std::string::npos && name.substr(at + s.size(), 2) != "00";
  });
}

/// Whether MLP or expert weights are stored in fewer bits than their matmuls use.
bool widens_weights(const Plan& plan) {
  const WeightFormats& w = plan.weight_precision;
  const double stored = std::min(bits_per_weight(w[Component::mlp]), bits_per_weight(w[Component::experts]));
  return stored < static_cast<double>(whole_bits(plan.precision.format()));
}

/// Highest matmul rate relative to the device's peak in the plan's format. It exceeds 1 for engines whose kernels
/// multiply quantized blocks in int8 or accumulate in fp16.
double fastest_products(const HardwareCard& card, const InferenceStack& stack, const Plan& plan) {
  const Device& d = card.cluster.device;
  const double peak = d.peak(plan.precision).value;
  double fastest = stack.half_sums && is_geforce(card) ? 2 : 1;
  if (stack.own_products && widens_weights(plan) && peak > 0)
    fastest = std::max(fastest, d.peak(*dtype("int8")).value / peak);
  return fastest;
}

void put_products_of_inference(const InferenceParameters& p, const HardwareCard& card, const InferenceStack& stack,
                               const Plan& plan, const MeasuredRates& measured, Achieved& a) {
  double saved = 1;  // rate relative to the library's 16-bit rate
  if (widens_weights(plan)) saved *= p[I::weight_only];
  if (stack.own_products) saved *= p[I::own_products];
  if (stack.vulkan) saved *= p[I::vulkan];
  double share = saved * p[matmul_parameter(card)];
  if (stack.half_sums && is_geforce(card)) share = std::min(1.0, 2 * share);
  const double narrow_share = p[chip_of(card) == Chip::cdna ? I::narrow_cdna : I::narrow];
  for (std::size_t i = 0; i < peak_count; ++i) {
    const auto format = static_cast<Peak>(i);
    const bool narrow = format == Peak::fp8 || format == Peak::fp4 || format == Peak::int8;
    a.matmul[i] = measured.products[i] ? saved * a.matmul[i] : narrow ? narrow_share * share : share;
    if (!measured.products[i]) a.exposed[i] = p[I::exposed];
  }
  for (std::size_t i = 0; i < a.flash.size(); ++i) {
    if (a.flash[i].forward.value > 0) continue;  // measured on this device
    const double flash = p[stack.own_products ? I::flash_own : I::flash] * (stack.vulkan ? p[I::vulkan] : 1);
    const FlopsPerSecond core = flash * card.cluster.device.peaks[i];
    a.flash[i] = {core, core};
  }
}

/// Parameter of the launch overhead of prompts under an engine that records decode steps.
I prompt_launch_parameter(ServingLoop loop) {
  switch (loop) {
    case ServingLoop::vllm:
      return I::kernel_vllm;
    case ServingLoop::tensorrt:
      return I::kernel_tensorrt;
    case ServingLoop::tensorrt_legacy:
    case ServingLoop::neuron:
      return I::kernel_compiled;
    case ServingLoop::none:
    case ServingLoop::vllm_legacy:
    case ServingLoop::server:
      break;
  }
  return I::kernel_prompt;
}

/// Parameter of the launch overhead outside captured graphs.
I launch_parameter(const HardwareCard& card, const InferenceStack& stack) {
  switch (stack.launching) {
    case Launching::recorded:
      return prompt_launch_parameter(stack.loop);
    case Launching::local:
    case Launching::local_graphs:
      return card.vendor == "Apple" ? I::kernel_metal : I::kernel_local;
    case Launching::eager:
      return I::kernel_eager;
    case Launching::compiled:
    case Launching::persistent:
      break;
  }
  return I::kernel_compiled;
}

void put_kernels(const InferenceParameters& p, const HardwareCard& card, const InferenceStack& stack, Achieved& a) {
  const Launching launching = stack.launching;
  const Achieved measured = a;
  a.launch = a.recorded = a.recorded_backward = {};
  if (launching == Launching::persistent) return;
  // A measured launch overhead is used only for C++ engines, where it is a property of the device. With other
  // software, it depends on the host.
  const bool by_device = launching == Launching::recorded || launching == Launching::compiled;
  a.launch = by_device && measured.launch.value > 0 ? measured.launch : Seconds(p[launch_parameter(card, stack)]);
  if (launching == Launching::recorded)
    a.recorded = a.recorded_backward = measured.recorded.value > 0 ? measured.recorded : Seconds(p[I::kernel_recorded]);
  if (launching == Launching::local_graphs && card.vendor == "NVIDIA") a.recorded = Seconds(p[I::kernel_cuda]);
}

LinkRates link_rates(const InferenceParameters& p, const HardwareCard& card, const InferenceStack& stack) {
  const bool through_host = card.link_type.find("PCI") != std::string::npos;
  const bool tensorrt = stack.loop == ServingLoop::tensorrt || stack.loop == ServingLoop::tensorrt_legacy;
  const I host = tensorrt ? I::link_host_tensorrt : I::link_host;
  const I start = through_host ? I::start_host : stack.own_collectives ? I::start : I::start_library;
  constexpr Seconds round(8e-7);  // NCCL's base latencies (src/graph/tuning.cc)
  return {.inside = p[through_host ? host : I::link],
          .between = p[card.bridged ? host : I::link],
          .round_inside = round,
          .round_between = round,
          .start = Seconds(p[start]),
          .trees = true};
}

/// Parameters of an engine's loop: overhead per pass, per sequence and pass, and per request. Compiled programs without
/// a server have no overhead per sequence or request.
struct LoopParameters {
  I step;
  std::optional<I> sequence, request, first_wave;
};
std::optional<LoopParameters> loop_parameters(ServingLoop loop) {
  switch (loop) {
    case ServingLoop::none:
      break;
    case ServingLoop::vllm:
      return LoopParameters{I::step_vllm, I::sequence_vllm, I::request_vllm, I::first_wave_vllm};
    case ServingLoop::vllm_legacy:
      return LoopParameters{I::step_vllm_legacy, I::sequence_vllm, I::request_vllm, I::first_wave_vllm};
    case ServingLoop::tensorrt:
      return LoopParameters{I::step_tensorrt, I::sequence_tensorrt, I::request_tensorrt, I::first_wave_tensorrt};
    case ServingLoop::tensorrt_legacy:
      return LoopParameters{I::step_tensorrt_legacy, I::sequence_tensorrt, I::request_tensorrt, I::first_wave_tensorrt};
    case ServingLoop::server:
      return LoopParameters{I::step_server, I::sequence_server, I::request_server, I::first_wave_server};
    case ServingLoop::neuron:
      return LoopParameters{I::step_neuron, {}, {}, {}};
  }
  return std::nullopt;
}

void put_loop(const InferenceParameters& p, ServingLoop loop, Software& s) {
  const std::optional<LoopParameters> of = loop_parameters(loop);
  if (!of) return;
  s.step = Seconds(p[of->step]);
  if (of->sequence) s.sequence = Seconds(p[*of->sequence]);
}

}  // namespace

Achieved inference_rates(const InferenceParameters& p, const HardwareCard& card, const InferenceStack& stack,
                         const Plan& plan) {
  const MeasuredRates measured = card.measured.value_or(MeasuredRates{});
  Achieved a = measured.rates;
  a.present = true;
  a.links = link_rates(p, card, stack);
  if (measured.links) a.links.inside = a.links.between = measured.rates.links.inside;
  a.fastest = fastest_products(card, stack, plan);
  put_products_of_inference(p, card, stack, plan, measured, a);
  put_kernels(p, card, stack, a);
  if (!measured.memory) a.memory = p[memory_parameter(chip_of(card))];
  put_loop(p, stack.loop, a.software);
  a.software.kernels.scan = p[I::scan];
  a.software.experts = p[I::experts];
  return a;
}

double paced_by(double ratio) { return std::sqrt(ratio); }

Seconds request_seconds(const InferenceParameters& p, const InferenceStack& stack) {
  const std::optional<LoopParameters> of = loop_parameters(stack.loop);
  return Seconds(of && of->request ? p[*of->request] : 0);
}

Seconds first_wave_seconds(const InferenceParameters& p, const InferenceStack& stack) {
  const std::optional<LoopParameters> of = loop_parameters(stack.loop);
  return Seconds(of && of->first_wave ? p[*of->first_wave] : 0);
}

InferenceEstimator read_inference_estimator(const json::Value& value, const std::string& where) {
  return read_estimator<InferenceParameters, InferenceClass>(value, where, inference_parameter_cards);
}

json::Value inference_estimator_json(const InferenceEstimator& e) {
  return estimator_json("inference", "prefill and decode estimator", inference_parameter_cards, e);
}

const InferenceEstimator& inference_estimator() {
  static const InferenceEstimator fitted = [] {
    const EstimateFile file = builtin_estimate("inference");
    return read_inference_estimator(file.value, file.where);
  }();
  return fitted;
}

}  // namespace llmcalc
