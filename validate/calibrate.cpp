#include "validate/calibrate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <thread>

#include "model/cpu/copy.hpp"
#include "model/cpu/make.hpp"
#include "model/random.hpp"

namespace llmcalc::validate {
namespace {

using Clock = std::chrono::steady_clock;

/// The shortest of the repeats: at least three, and as many as fit in a third of a second.
template <typename F>
double best_seconds(const F& f) {
  f();
  double best = 1e300, spent = 0;
  for (int i = 0; i < 3 || (spent < 0.33 && i < 1000); ++i) {
    const auto start = Clock::now();
    f();
    const double s = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, s), spent += s;
  }
  return best;
}

/// Random numbers in a backend's memory.
class Numbers {
 public:
  Numbers(model::Backend& b, Count n, std::uint64_t stream)
      : backend_(b), bytes_(b.number() * n), data_(b.allocate(bytes_)) {
    std::vector<double> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = model::uniform<float>(model::random_key(1), model::random_counter(i, stream)) - 0.5F;
    b.write(data_, values, false);
  }
  ~Numbers() { backend_.release(data_, bytes_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  void* data() const { return data_; }

 private:
  model::Backend& backend_;
  Bytes bytes_;
  void* data_;
};

struct Size {
  Count m, n, k;
};
/// Projections, MLPs and heads of small and middling models.
constexpr std::array<Size, 6> sizes{
    {{256, 768, 768}, {1024, 768, 768}, {1024, 3072, 768}, {1024, 768, 3072}, {512, 16384, 768}, {2048, 2048, 2048}}};

MatmulRate matmul_rate(model::Backend& b, DType format, const Size& s) {
  const Numbers x(b, s.m * s.k, 1), w(b, s.n * s.k, 2), y(b, s.m * s.n, 3);
  const Linear shape{.rows = s.m, .in = s.k, .out = s.n};
  const model::LinearView view{.x = x.data(), .weight = w.data()};
  const double seconds = best_seconds([&] { b.linear(shape, view, y.data()); });
  return {format, s.m, s.n, s.k, FlopsPerSecond(2.0 * static_cast<double>(s.m * s.n * s.k) / seconds)};
}

/// An addition of 64 numbers, over and over.
Seconds launch_time(model::Backend& b) {
  const Numbers x(b, 64, 1), y(b, 64, 2);
  const Pointwise shape{.kind = PointwiseKind::add, .rows = 1, .width = 64};
  constexpr int times = 1000;
  return Seconds(best_seconds([&] {
                   for (int i = 0; i < times; ++i) b.add(shape, x.data(), y.data(), y.data());
                 }) /
                 times);
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string rate_text(FlopsPerSecond r) { return fmt::format("{:.4g} GFLOP/s", r.value / 1e9); }

std::vector<double> rates_of(const Calibration& c, DType t) {
  std::vector<double> all;
  for (const MatmulRate& m : c.matmuls)
    if (m.format == t) all.push_back(m.rate.value);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

Calibration calibrated(const std::function<void(const std::string&)>& progress) {
  Calibration c;
  c.processor = processor_name();
  c.threads = static_cast<int>(std::thread::hardware_concurrency());
  c.memory = Bytes(mul(sysconf(_SC_PHYS_PAGES), sysconf(_SC_PAGE_SIZE)));
  c.cache = Bytes(std::max<Count>(0, sysconf(_SC_LEVEL3_CACHE_SIZE)));
  for (const auto& [number, format] :
       {std::pair{model::Number::f32, dtypes::fp32}, {model::Number::bf16, dtypes::bf16}}) {
    const std::unique_ptr<model::Backend> b = model::make_cpu(number);
    for (const Size& s : sizes) {
      progress(fmt::format("matmul {} {} x {} x {}", format.name(), s.m, s.n, s.k));
      c.matmuls.push_back(matmul_rate(*b, format, s));
    }
  }
  progress("copy bandwidth");
  c.copy = BytesPerSecond(model::copy_bandwidth(Count{1} << 29));
  progress("time of an operator");
  c.launch = launch_time(*model::make_cpu(model::Number::f32));
  return c;
}

json::Value hardware_file(const Calibration& c, const std::string& name, const std::string& date) {
  json::Value matmul, sources;
  double fraction = 0;
  for (const DType t : {dtypes::fp32, dtypes::bf16}) {
    const std::vector<double> rates = rates_of(c, t);
    const std::string key(t.name());
    matmul[key] = rate_text(FlopsPerSecond(rates.back()));
    sources["matmul." + key] = "measured: the best of " + std::to_string(rates.size()) + " sizes";
    fraction = std::max(fraction, rates[rates.size() / 2] / rates.back());
  }
  sources["memory.capacity"] = "what the system reports";
  sources["memory.bandwidth"] = "measured: copies, bytes read and written";
  json::Value h{{"name", name},
                {"title", fmt::format("{}, {} threads", c.processor, c.threads)},
                {"memory",
                 {{"capacity", fmt::format("{} B", c.memory.value)},
                  {"bandwidth", fmt::format("{:.4g} GB/s", c.copy.value / 1e9)}}},
                {"matmul", matmul},
                {"achieved",
                 {{"matmul", std::stod(fmt::format("{:.4f}", fraction))},
                  {"memory", 1.0},
                  {"launch", fmt::format("{:.4g} us", c.launch.value * 1e6)},
                  {"how", fmt::format("llmcalc calibrate on {}: {} threads, {}", c.processor, c.threads, date)}}},
                {"sources", sources}};
  return h;
}

}  // namespace llmcalc::validate
