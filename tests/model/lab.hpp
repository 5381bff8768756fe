#pragma once
/// Compares a backend's kernel with the same kernel in double, on the same inputs.

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/cpu/make.hpp"
#include "model/random.hpp"
#include "tests/catch.hpp"
#include "tests/model/emulated.hpp"

namespace llmcalc::test {

/// The same values on two backends.
struct Pair {
  void *tested = nullptr, *exact = nullptr;
  Count n = 0;
  bool wide = false;
};

class Lab {
 public:
  Lab(model::Number number, std::unique_ptr<model::Backend> tested)
      : tested_(std::move(tested)),
        exact_(model::make_cpu(model::Number::f64, true)),
        tolerance_(number == model::Number::f32    ? 1e-5
                   : number == model::Number::bf16 ? 1e-2
                                                   : 1e-2 / 8) {}
  ~Lab() {
    for (const Taken& t : taken_) {
      tested_->release(t.pair.tested, t.tested);
      exact_->release(t.pair.exact, t.exact);
    }
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  /// Random values representable in the tested format, in [-spread, spread).
  Pair input(Count n, bool wide = false, double spread = 2) {
    Pair p = output(n, wide);
    std::vector<double> v(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = spread * (2 * model::uniform<double>(model::random_key(17), model::random_counter(i, stream_)) - 1);
    ++stream_;
    tested_->write(p.tested, v, wide);
    tested_->read(v, p.tested, wide);
    exact_->write(p.exact, v, wide);
    return p;
  }
  Pair output(Count n, bool wide = false) {
    return taken(n, wide, n * (wide ? tested_->wide() : tested_->number()), n * exact_->number());
  }
  /// n bytes on both backends, such as a mask.
  Pair bytes(Count n) { return taken(n, false, Bytes(n), Bytes(n)); }
  std::vector<std::uint8_t> tested_bytes(const Pair& p) {
    std::vector<std::uint8_t> all(static_cast<std::size_t>(p.n));
    tested_->download(all.data(), p.tested, Bytes(p.n));
    return all;
  }
  /// Runs f(backend, p) on both; p(pair) is the pair's pointer on that backend.
  template <typename F>
  void run(F f) {
    f(*tested_, [](const Pair& p) { return p.tested; });
    f(*exact_, [](const Pair& p) { return p.exact; });
  }
  model::Backend& tested() { return *tested_; }
  /// Checks the relative L2 error.
  void check(const char* what, const Pair& p, double factor = 1) {
    std::vector<double> a(static_cast<std::size_t>(p.n)), b(a.size());
    tested_->read(a, p.tested, p.wide);
    exact_->read(b, p.exact, p.wide);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference += (a[i] - b[i]) * (a[i] - b[i]);
      norm += b[i] * b[i];
    }
    INFO(what);
    REQUIRE(norm > 0);
    CHECK(std::sqrt(difference) <= factor * tolerance_ * std::sqrt(norm));
  }

 private:
  struct Taken {
    Pair pair;
    Bytes tested, exact;
  };
  Pair taken(Count n, bool wide, Bytes tested, Bytes exact) {
    taken_.push_back({{tested_->allocate(tested), exact_->allocate(exact), n, wide}, tested, exact});
    return taken_.back().pair;
  }

  std::unique_ptr<model::Backend> tested_, exact_;
  std::vector<Taken> taken_;
  double tolerance_;
  std::uint64_t stream_ = 0;
};

/// Calls f(lab) on every tested GPU backend in both formats. Allocations start as NaN.
template <typename F>
void each_lab(F f) {
  for (const MakeBackend make : gpus())
    for (const model::Number number : {model::Number::f32, model::Number::bf16}) {
      std::unique_ptr<model::Backend> tested = make(number, true);
      INFO(tested->name());
      Lab lab(number, std::move(tested));
      f(lab);
    }
}

}  // namespace llmcalc::test
