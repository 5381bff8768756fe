#include "validate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>

#include "model/cpu/copy.hpp"
#include "model/cpu/make.hpp"

namespace llmcalc::validate {
namespace {

/// Projections, MLPs and heads of small and middling models.
constexpr std::array<MatmulSize, 6> sizes{
    {{256, 768, 768}, {1024, 768, 768}, {1024, 3072, 768}, {1024, 768, 3072}, {512, 16384, 768}, {2048, 2048, 2048}}};

/// What is left of a product's time when its rows grow fewer: t = (F + F_half) / rate (Hockney & Jesshope 1981).
double half_matmul(model::Backend& b, FlopsPerSecond rate, Seconds launch) {
  constexpr MatmulSize few{32, 256, 256}, more{96, 256, 256};
  const double slope = (matmul_seconds(b, more) - matmul_seconds(b, few)).value / 64;
  const double seconds = matmul_seconds(b, few).value - 32 * slope - launch.value;
  return std::max(0.0, seconds * rate.value);
}

FormatRates rates_of(model::Backend& b, DType format, Seconds launch) {
  FormatRates r{.format = format, .matmuls = {}, .attention = attention_rate(b)};
  for (const MatmulSize& s : sizes) r.matmuls.push_back({s, FlopsPerSecond(s.flops() / matmul_seconds(b, s).value)});
  r.half_matmul = half_matmul(b, r.median(), launch);
  return r;
}

/// t = longer + (1 - hidden) shorter, for a product of few rows whose weights come from memory.
double hidden_share(model::Backend& b, const FormatRates& r, BytesPerSecond copy) {
  constexpr MatmulSize s{64, 3072, 768};
  constexpr int weights = 32;  // 300 MB
  const double compute = (s.flops() + r.half_matmul) / r.median().value;
  const double memory = static_cast<double>((s.out * s.in * b.number()).value) / copy.value;
  const double both = streamed_matmul_seconds(b, s, weights).value;
  return std::clamp(1 - (both - std::max(compute, memory)) / std::min(compute, memory), 0.0, 1.0);
}

/// Bandwidth of an addition of 8 MB, and the largest that keeps four fifths of it.
void measure_cache(Calibration& c, model::Backend& b) {
  c.cache = Bytes(Count{8} << 20);
  c.cache_bandwidth = addition_bandwidth(b, c.cache);
  for (Bytes larger = 2 * c.cache; larger.value <= Count{256} << 20; larger = 2 * larger) {
    if (addition_bandwidth(b, larger).value < 0.8 * c.cache_bandwidth.value) return;
    c.cache = larger;
  }
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string rate_text(FlopsPerSecond r) { return fmt::format("{:.4g} GFLOP/s", r.value / 1e9); }

/// To four digits.
double rounded(double x) { return std::stod(fmt::format("{:.4g}", x)); }

std::vector<double> sorted(const std::vector<MatmulRate>& all) {
  std::vector<double> rates;
  for (const MatmulRate& m : all) rates.push_back(m.rate.value);
  std::sort(rates.begin(), rates.end());
  return rates;
}

}  // namespace

FlopsPerSecond FormatRates::best() const { return FlopsPerSecond(sorted(matmuls).back()); }
FlopsPerSecond FormatRates::median() const { return FlopsPerSecond(sorted(matmuls)[matmuls.size() / 2]); }

Calibration calibrated(const Where& where, const std::function<void(const std::string&)>& progress) {
  Calibration c;
  const auto f32 = where.make(model::Number::f32), bf16 = where.make(model::Number::bf16);
  c.device = where.on_processor ? processor_name() : std::string(f32->name().substr(0, f32->name().find(',')));
  if (where.on_processor) c.threads = static_cast<int>(std::thread::hardware_concurrency());
  c.memory = f32->capacity();
  progress("copies");
  constexpr Count large = Count{1} << 29;
  c.copy = where.on_processor ? BytesPerSecond(model::copy_bandwidth(large)) : copy_bandwidth(*f32, Bytes(large));
  progress("small tensors");
  measure_cache(c, *f32);
  c.launch = operator_seconds(*f32);
  progress("activations");
  c.functions = function_rate(*f32);
  progress("products and attention in float32");
  c.formats.push_back(rates_of(*f32, dtypes::fp32, c.launch.forward));
  progress("products and attention in bfloat16");
  c.formats.push_back(rates_of(*bf16, dtypes::bf16, c.launch.forward));
  progress("products with weights from memory");
  c.hidden = hidden_share(*f32, c.formats[0], c.copy);
  // Last: kernels are loaded when they first run.
  if (model::Instruments* device = f32->instruments()) c.overhead = device->memory(Bytes()).overhead;
  return c;
}

json::Value hardware_file(const Calibration& c, const std::string& name, const std::string& date) {
  const std::string title = c.threads > 0 ? fmt::format("{}, {} threads", c.device, c.threads) : c.device;
  json::Value matmul, attention, half, sources;
  double fraction = 0;
  for (const FormatRates& f : c.formats) {
    const std::string key(f.format.name());
    matmul[key] = rate_text(f.best()), attention[key] = rate_text(f.attention), half[key] = rounded(f.half_matmul);
    sources["matmul." + key] = fmt::format("measured: the best of {} sizes", f.matmuls.size());
    fraction = std::max(fraction, f.median().value / f.best().value);
  }
  sources["cache"] = "measured: the largest addition at the cache's pace";
  sources["memory.capacity"] = "what the system reports";
  sources["memory.bandwidth"] = "measured: copies, bytes read and written";
  json::Value h{{"name", name},
                {"title", title},
                {"memory",
                 {{"capacity", fmt::format("{} B", c.memory.value)},
                  {"bandwidth", fmt::format("{:.4g} GB/s", c.copy.value / 1e9)}}},
                {"matmul", matmul},
                {"cache", fmt::format("{} B", c.cache.value)},
                {"achieved",
                 {{"matmul", rounded(fraction)},
                  {"memory", 1.0},
                  {"launch", fmt::format("{:.4g} us", c.launch.forward.value * 1e6)},
                  {"launch_backward", fmt::format("{:.4g} us", c.launch.backward.value * 1e6)},
                  {"attention", attention},
                  {"half_matmul", half},
                  {"hidden", rounded(c.hidden)},
                  {"functions", rounded(c.functions)},
                  {"cache", fmt::format("{:.4g} GB/s", c.cache_bandwidth.value / 1e9)},
                  {"how", fmt::format("llmcalc calibrate on {}, {}", title, date)}}},
                {"sources", sources}};
  if (c.overhead != Bytes()) h["achieved"]["overhead"] = fmt::format("{} B", c.overhead.value);
  return h;
}

}  // namespace llmcalc::validate
