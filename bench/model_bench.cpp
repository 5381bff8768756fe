/// The reference transformer's kernels and steps on this machine's cores.
///
/// Goals, release build, two otherwise idle cores; printed, not enforced:
///   element-wise kernels  50 % or more of the copy bandwidth
///   decode                GPT-2 124M, float32, batch 1: weights and cache read at 60 % or more of the copy bandwidth
///   training              GPT-2 124M, float32, batch 4, sequence 256: 150 tokens/s or more
///   matmuls               GFLOP/s, for the record
///
/// Copy bandwidth: bytes read and written per second by memcpy, both arrays larger than the cache. Every figure is from
/// the fastest repetition.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <limits>

#include "model/cpu/copy.hpp"
#include "model/transformer.hpp"
#include "presets/load.hpp"

namespace llmcalc::bench {
namespace {

using model::Backend, model::Number;

/// Seconds of the fastest run of f; Google Benchmark's own columns show the mean.
template <typename F>
double fastest(benchmark::State& state, F f) {
  double best = std::numeric_limits<double>::max();
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(time.count());
    best = std::min(best, time.count());
  }
  return best;
}

double copy_rate() {
  static const double rate = model::copy_bandwidth(Count{1} << 29);
  return rate;
}

/// Rate in GB/s and relative to the copy bandwidth.
void report_bytes(benchmark::State& state, double bytes, double seconds) {
  state.counters["GB/s"] = bytes / seconds / 1e9;
  state.counters["of_copy_%"] = 100 * bytes / seconds / copy_rate();
}

void copy(benchmark::State& state) {
  for (auto _ : state) state.SetIterationTime(2.0 * (Count{1} << 29) / copy_rate());
  state.counters["GB/s"] = copy_rate() / 1e9;
}
BENCHMARK(copy)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// ---- Element-wise kernels

constexpr Count rows = 1 << 16, width = 1024, numbers = rows * width, vocabulary = 1 << 15;

/// Buffers of a kernel: arrays of `numbers` values in [-4, 4), in the wide format.
class Arrays {
 public:
  explicit Arrays(Backend& backend) : backend_(backend), some_(1 << 16) {
    for (std::size_t i = 0; i < some_.size(); ++i)
      some_[i] = static_cast<double>(i * 7919 % some_.size()) / static_cast<double>(some_.size()) * 8 - 4;
  }
  ~Arrays() {
    for (void* p : all_) backend_.release(p, bytes());
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  void* number() { return make(false); }
  void* wide() { return make(true); }

 private:
  Bytes bytes() const { return numbers * backend_.wide(); }
  void* make(bool wide) {
    void* p = backend_.allocate(bytes());
    const Count part = static_cast<Count>(some_.size()) * (wide ? backend_.wide() : backend_.number()).value;
    backend_.write(p, some_, wide);
    for (Count at = part; at + part <= bytes().value; at += part)
      std::memcpy(static_cast<std::byte*>(p) + at, p, static_cast<std::size_t>(part));
    all_.push_back(p);
    return p;
  }
  Backend& backend_;
  std::vector<double> some_;
  std::vector<void*> all_;
};

double bytes_moved(const Backend& b, double moved, double moved_wide) {
  const double each = moved * static_cast<double>(b.number().value) + moved_wide * static_cast<double>(b.wide().value);
  return static_cast<double>(numbers) * each;
}

/// Times the function that f(backend, arrays) returns. `moved` and `moved_wide`: values read or written per element,
/// in the tested format and in the wide format respectively.
template <typename F>
void element_wise(const char* name, double moved, double moved_wide, F f) {
  for (const Number format : {Number::f32, Number::bf16}) {
    const std::string label = std::string(name) + (format == Number::f32 ? "/float32" : "/bfloat16");
    benchmark::RegisterBenchmark(label.c_str(),
                                 [=](benchmark::State& state) {
                                   const std::unique_ptr<Backend> cpu = model::make_cpu(format);
                                   Arrays arrays(*cpu);
                                   const auto run = f(*cpu, arrays);
                                   const double bytes = bytes_moved(*cpu, moved, moved_wide);
                                   report_bytes(state, bytes, fastest(state, run));
                                 })
        ->UseManualTime()
        ->Iterations(7)
        ->Unit(benchmark::kMillisecond);
  }
}

const Pointwise shape{.rows = rows, .width = width};
const Norm norm_shape{.rows = rows, .width = width};
const Lookup lookup_shape{.tokens = rows, .rows = vocabulary, .width = width};
const Loss loss_shape{.rows = numbers / vocabulary, .vocabulary = vocabulary};
const model::Positions positions{.queries = 1024};

std::vector<std::int64_t> tokens(Count n) {
  std::vector<std::int64_t> ids;
  for (Count i = 0; i < n; ++i) ids.push_back(i * 7919 % vocabulary);
  return ids;
}

void sums_and_products() {
  element_wise("add", 3, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number(), y = a.number(), z = a.number()] { b.add(shape, x, y, z); };
  });
  element_wise("accumulate", 3, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number(), y = a.number()] { b.accumulate(numbers, x, y); };
  });
  element_wise("multiply", 3, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number(), y = a.number(), z = a.number()] { b.multiply(shape, x, y, z); };
  });
  element_wise("multiply gradient", 5, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number(), y = a.number(), dy = a.number(), dx = a.number(), dz = a.number()] {
      b.multiply_gradient(shape, x, y, dy, dx, false, dz, false);
    };
  });
  element_wise("scale", 2, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number(), g = a.number(), y = a.number()] { b.scale(shape, x, g, y); };
  });
  element_wise("scale gradient", 3, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number(), g = a.number(), dy = a.number(), dx = a.number(), dg = a.number()] {
      b.scale_gradient(shape, x, g, dy, dx, false, dg, false);
    };
  });
}

void activations() {
  for (const auto& [name, f] : {std::pair{"relu", Activation::relu},
                                {"gelu", Activation::gelu},
                                {"gelu_tanh", Activation::gelu_tanh},
                                {"silu", Activation::silu}}) {
    const std::string n = name;
    element_wise(n.c_str(), 2, 0, [f](Backend& b, Arrays& a) {
      return [&b, f, x = a.number(), y = a.number()] { b.activate(shape, f, x, y); };
    });
    element_wise((n + " gradient").c_str(), 3, 0, [f](Backend& b, Arrays& a) {
      return [&b, f, x = a.number(), dy = a.number(), dx = a.number()] {
        b.activate_gradient(shape, f, x, dy, dx, false);
      };
    });
  }
  element_wise("silu gate", 3, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number(), y = a.number(), z = a.number()] { b.gate(shape, Activation::silu, x, y, z); };
  });
  element_wise("silu gate gradient", 5, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number(), y = a.number(), dz = a.number(), dx = a.number(), dy = a.number()] {
      b.gate_gradient(shape, Activation::silu, x, y, dz, dx, false, dy, false);
    };
  });
}

void dropout_and_norms() {
  const model::Dropout tenth{.p = 0.1, .key = 7};
  constexpr double mask_byte = 0.25;  // size of a mask byte, in wide values
  element_wise("dropout", 2, mask_byte, [tenth](Backend& b, Arrays& a) {
    return [&b, tenth, x = a.number(), mask = a.number()] { b.dropout(shape, tenth, x, mask); };
  });
  element_wise("dropout gradient", 2, mask_byte, [tenth](Backend& b, Arrays& a) {
    return [&b, tenth, x = a.number(), mask = a.number()] { b.dropout_gradient(shape, tenth, mask, x); };
  });
  for (const bool centered : {true, false}) {
    Norm s = norm_shape;
    s.centered = centered;
    const std::string name = centered ? "LayerNorm" : "RMSNorm";
    element_wise(name.c_str(), 2, 0, [s](Backend& b, Arrays& a) {
      const model::NormView v{
          .x = a.number(), .weight = a.number(), .bias = s.centered ? a.number() : nullptr, .x_stride = width};
      return [&b, s, v, y = a.number(), saved = a.wide()] { b.norm(s, v, y, saved); };
    });
    element_wise((name + " gradient").c_str(), 3, 0, [s](Backend& b, Arrays& a) {
      const model::NormView v{.x = a.number(), .weight = a.number(), .x_stride = width};
      void *dy = a.number(), *dx = a.number(), *saved = a.wide();
      b.norm(s, v, dx, saved);
      return [&b, s, v, saved, dy, dx, dw = a.wide(), db = s.centered ? a.wide() : nullptr] {
        b.norm_gradient(s, v, saved, dy, dx, false, dw, db);
      };
    });
  }
}

void positions_and_tables() {
  element_wise("rotary positions", 2, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number()] { b.rope(rows, positions, x, width, width / 128, 128, 128, 0, false); };
  });
  element_wise("sinusoids", 2, 0, [](Backend& b, Arrays& a) {
    return [&b, x = a.number()] { b.add_sinusoid(lookup_shape, positions, x); };
  });
  element_wise("lookup", 2, 0, [](Backend& b, Arrays& a) {
    return [&b, ids = tokens(rows), table = a.number(), y = a.number()] {
      b.lookup(lookup_shape, ids.data(), positions, table, y);
    };
  });
  element_wise("lookup gradient", 1, 2, [](Backend& b, Arrays& a) {
    return [&b, ids = tokens(rows), dy = a.number(), dtable = a.wide()] {
      b.lookup_gradient(lookup_shape, ids.data(), positions, dy, dtable);
    };
  });
  element_wise("loss", 0, 2, [](Backend& b, Arrays& a) {
    return [&b, ids = tokens(loss_shape.rows), x = a.wide()] {
      double mean = 0;
      b.loss(loss_shape, ids.data(), x, nullptr, &mean);
      benchmark::DoNotOptimize(mean);
    };
  });
  element_wise("loss gradient", 0, 2, [](Backend& b, Arrays& a) {
    return [&b, ids = tokens(loss_shape.rows), x = a.wide()] {
      b.loss_gradient(loss_shape, ids.data(), 1e-3, x, nullptr);
    };
  });
  element_wise("loss, logits of the format", 1, 0, [](Backend& b, Arrays& a) {
    return [&b, ids = tokens(loss_shape.rows), x = a.number(), sums = a.wide()] {
      double mean = 0;
      b.loss(loss_shape, ids.data(), x, sums, &mean);
      benchmark::DoNotOptimize(mean);
    };
  });
  element_wise("loss gradient, logits of the format", 2, 0, [](Backend& b, Arrays& a) {
    return [&b, ids = tokens(loss_shape.rows), x = a.number(), sums = a.wide()] {
      b.loss_gradient(loss_shape, ids.data(), 1e-3, x, sums);
    };
  });
}

void optimizers() {
  // 16-bit weights have a float32 master copy, which is read and written.
  for (const Number format : {Number::f32, Number::bf16}) {
    const bool master = format == Number::bf16;
    const auto name = [&](const char* n) { return std::string(n) + (master ? "/bfloat16" : "/float32"); };
    const auto bench = [format](benchmark::State& state, double moved, double moved_wide, auto f) {
      const std::unique_ptr<Backend> cpu = model::make_cpu(format);
      Arrays a(*cpu);
      const auto run = f(*cpu, a);
      const double bytes = bytes_moved(*cpu, moved, moved_wide);
      report_bytes(state, bytes, fastest(state, run));
    };
    benchmark::RegisterBenchmark(name("AdamW").c_str(),
                                 [=](benchmark::State& state) {
                                   bench(state, master ? 1 : 2, master ? 7 : 5, [=](Backend& b, Arrays& a) {
                                     return [&b, g = a.wide(), w = a.number(), copy = master ? a.wide() : nullptr,
                                             m = a.wide(), v = a.wide()] {
                                       const model::ParameterUpdate p{numbers, g, w, copy, m, v};
                                       b.update({&p, 1}, {});
                                     };
                                   });
                                 })
        ->UseManualTime()
        ->Iterations(7)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(name("SGD with momentum").c_str(),
                                 [=](benchmark::State& state) {
                                   bench(state, master ? 1 : 2, master ? 5 : 3, [=](Backend& b, Arrays& a) {
                                     return [&b, g = a.wide(), w = a.number(), copy = master ? a.wide() : nullptr,
                                             v = a.wide()] {
                                       const model::ParameterUpdate p{numbers, g, w, copy, v};
                                       b.update({&p, 1}, {.optimizer = Optimizer::momentum});
                                     };
                                   });
                                 })
        ->UseManualTime()
        ->Iterations(7)
        ->Unit(benchmark::kMillisecond);
  }
  element_wise("sum of squares", 0, 1, [](Backend& b, Arrays& a) {
    return [&b, g = a.wide()] {
      double sum = 0;
      const model::ParameterUpdate p{.n = numbers, .gradient = g};
      b.square_sums({&p, 1}, &sum);
      benchmark::DoNotOptimize(sum);
    };
  });
}

// ---- Matmuls

void product(benchmark::State& state, Number format) {
  const Count m = state.range(0), n = state.range(1), k = state.range(2);
  const std::unique_ptr<Backend> cpu = model::make_cpu(format);
  const auto make = [&](Count size) {
    void* p = cpu->allocate(size * cpu->wide());
    cpu->zero(p, size * cpu->wide());
    return p;
  };
  void *x = make(m * k), *w = make(n * k), *y = make(m * n), *dx = make(m * k), *dw = make(n * k);
  const Linear s{.rows = m, .in = k, .out = n};
  const model::LinearView v{.x = x, .weight = w};
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  state.counters["forward_GFLOP/s"] = flops / fastest(state, [&] { cpu->linear(s, v, y); }) / 1e9;
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    cpu->linear_gradient(s, v, y, dx, false, dw, nullptr);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  state.counters["backward_GFLOP/s"] = 2 * flops / best / 1e9;
  const std::pair<void*, Count> all[] = {{x, m * k}, {w, n * k}, {y, m * n}, {dx, m * k}, {dw, n * k}};
  for (const auto& [p, size] : all) cpu->release(p, size * cpu->wide());
}
void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "n", "k"})->UseManualTime()->Iterations(7)->Unit(benchmark::kMillisecond);
  b->Args({256, 768, 768})->Args({1024, 3072, 768})->Args({1024, 50304, 768})->Args({2048, 2048, 2048});
  b->Args({128, 128, 128});
}
BENCHMARK_CAPTURE(product, float32, Number::f32)->Apply(shapes);
BENCHMARK_CAPTURE(product, bfloat16, Number::bf16)->Apply(shapes);
BENCHMARK_CAPTURE(product, float64, Number::f64)
    ->ArgNames({"m", "n", "k"})
    ->Args({1024, 3072, 768})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

// ---- Whole steps of GPT-2 124M

Plan plan(Number format) {
  Plan p;
  p.seq = 256;
  p.micro_batch = p.global_batch = 4;
  if (format == Number::f32) {
    p.kv_precision = p.precision = dtypes::fp32;
    p.weight_precision = p.precision;
  }
  return p;
}

void training(benchmark::State& state, Number format) {
  const std::unique_ptr<Backend> cpu = model::make_cpu(format);
  const Plan p = plan(format);
  model::Transformer t(load_model("gpt-2-124m").arch, *cpu, {.plan = p}, 1);
  t.weights().make_trainable(p);
  const Count n = p.seq * p.micro_batch;
  std::vector<model::Batch> batches(1);
  batches[0] = {tokens(n), tokens(n)};
  const double seconds = fastest(state, [&] { t.train(batches, {}); });
  state.counters["tokens/s"] = static_cast<double>(n) / seconds;
  state.counters["GFLOP/s"] = 6.0 * 124e6 * static_cast<double>(n) / seconds / 1e9;
}
BENCHMARK_CAPTURE(training, float32, Number::f32)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(training, bfloat16, Number::bf16)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

void decode(benchmark::State& state, Number format) {
  constexpr Count prompt = 256, steps = 64;
  const std::unique_ptr<Backend> cpu = model::make_cpu(format);
  const Arch arch = load_model("gpt-2-124m").arch;
  model::Transformer t(arch, *cpu, {.plan = plan(format)}, 1);
  model::Cache cache = t.make_cache(1, prompt + steps);
  t.logits(tokens(prompt), 1, 0, &cache);
  Count done = prompt;
  const double seconds = fastest(state, [&] {
    t.logits(tokens(1), 1, done, &cache);
    if (++done == prompt + steps) done = prompt;
  });
  // Bytes read: every matrix (the token embedding serves as the head), the keys and values, and one row of each
  // lookup table.
  const Count saved = arch.layers * 2 * arch.hidden * prompt;
  const double bytes = static_cast<double>(124'439'808 - 1024 * 768 + saved) * static_cast<double>(cpu->number().value);
  report_bytes(state, bytes, seconds);
  state.counters["tokens/s"] = 1 / seconds;
}
BENCHMARK_CAPTURE(decode, float32, Number::f32)->UseManualTime()->Iterations(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, bfloat16, Number::bf16)->UseManualTime()->Iterations(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace llmcalc::bench

int main(int argc, char** argv) {
  using namespace llmcalc::bench;
  sums_and_products();
  activations();
  dropout_and_norms();
  positions_and_tables();
  optimizers();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  return benchmark::RunSpecifiedBenchmarks() == 0 ? 1 : 0;
}
