#include "model/weights.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "model/cpu/workers.hpp"
#include "model/random.hpp"
#include "text/error.hpp"

namespace llmcalc::model {

Weights::Weights(const Arch& arch, Backend& backend, Arena& arena, std::optional<std::uint64_t> seed, Count modules)
    : backend_(backend), arena_(arena) {
  for (const ParameterShape& s : parameter_shapes(arch, modules)) {
    all_.push_back({s, arena.make(Purpose::weights, "", backend.number() * s.elements()), {}, {}, {}, {}});
    by_name_[s.name] = &all_.back();
    if (seed) start(all_.back(), all_.size(), arch.layers, *seed);
  }
}

/// Normal numbers of mean 0, drawn in blocks: number i is the same however many threads draw.
void Weights::draw(Parameter& p, std::uint64_t stream, double deviation, std::uint64_t seed) {
  constexpr Count block = 1 << 20;
  std::vector<double> values;
  for (Count first = 0; first < p.elements(); first += block) {
    const Count n = std::min(block, p.elements() - first);
    values.resize(static_cast<std::size_t>(n));
    share_out((n + 1) / 2, [&](Count half) {
      const Count i = 2 * half;
      const NormalPair pair =
          normal_pair(random_key(seed), random_counter(static_cast<std::uint64_t>(first + i) / 2, stream));
      values[static_cast<std::size_t>(i)] = deviation * pair.first;
      if (i + 1 < n) values[static_cast<std::size_t>(i + 1)] = deviation * pair.second;
    });
    auto* at = static_cast<std::byte*>(p.value->data()) + (first * backend_.number()).value;
    backend_.write(at, values, false);
  }
}

/// The weights as they are into their master, by stretches that a cache holds.
void Weights::widen(Parameter& p) {
  constexpr Count block = 1 << 18;
  const auto* const from = static_cast<const std::byte*>(p.value->data());
  auto* const to = static_cast<std::byte*>(p.master->data());
  std::vector<double> values;
  for (Count first = 0; first < p.elements(); first += block) {
    values.resize(static_cast<std::size_t>(std::min(block, p.elements() - first)));
    backend_.read(values, from + (first * backend_.number()).value, false);
    backend_.write(to + (first * backend_.wide()).value, values, true);
  }
}

void Weights::start(Parameter& p, std::size_t index, Count layers, std::uint64_t seed) {
  if (p.shape.start == Start::normal) return draw(p, index, 0.02, seed);
  if (p.shape.start == Start::residual)
    return draw(p, index, 0.02 / std::sqrt(2.0 * static_cast<double>(layers)), seed);
  const double value = p.shape.start == Start::one ? 1.0 : p.shape.start == Start::step ? short_step : 0.0;
  set(p, std::vector<double>(static_cast<std::size_t>(p.elements()), value));
}

void Weights::set(Parameter& p, std::span<const double> values) {
  backend_.write(p.value->data(), values, false);
  if (p.master) backend_.write(p.master->data(), values, true);
}

std::vector<double> Weights::get(const Tensor& t, Count elements, bool wide) const {
  std::vector<double> values(static_cast<std::size_t>(elements));
  backend_.read(values, t->data(), wide);
  return values;
}

Tensor Weights::wide_tensor(Purpose purpose, const Parameter& p) {
  const Bytes bytes = backend_.wide() * p.elements();
  Tensor t = arena_.make(purpose, "", bytes);
  backend_.zero(t->data(), bytes);
  return t;
}

void Weights::make_trainable(const Plan& plan) {
  if (plan.optimizer != Optimizer::adam && plan.optimizer != Optimizer::momentum && plan.optimizer != Optimizer::sgd)
    throw InputError("the reference transformer trains with adam, momentum or sgd; choose one of them");
  for (Parameter& p : all_) {
    p.gradient = wide_tensor(Purpose::gradients, p);
    if (plan.master && backend_.number() < backend_.wide()) {
      p.master = wide_tensor(Purpose::optimizer, p);
      widen(p);
    }
    if (plan.optimizer != Optimizer::sgd) p.first = wide_tensor(Purpose::optimizer, p);
    if (plan.optimizer == Optimizer::adam) p.second = wide_tensor(Purpose::optimizer, p);
  }
}

void Weights::zero_gradients() {
  for (Parameter& p : all_) p.blank = true;
}
void Weights::fill_blanks() {
  for (Parameter& p : all_) sum(&p);
}
std::vector<ParameterUpdate> Weights::updates() {
  std::vector<ParameterUpdate> all;
  for (Parameter& p : all_)
    all.push_back({.n = p.elements(),
                   .gradient = data(p.gradient),
                   .weight = data(p.value),
                   .master = data(p.master),
                   .first = data(p.first),
                   .second = data(p.second),
                   .decays = p.decays()});
  return all;
}
void Weights::gradients_written() {
  for (Parameter& p : all_) p.blank = false;
}
void* Weights::sum(Parameter* p) {
  if (p == nullptr || !p->gradient) return nullptr;
  if (std::exchange(p->blank, false)) backend_.zero(p->gradient->data(), p->gradient->bytes());
  return p->gradient->data();
}

Parameter* Weights::find(Count layer, std::string_view name) {
  const auto it =
      by_name_.find(layer < 0 ? std::string(name) : "layers." + std::to_string(layer) + "." + std::string(name));
  return it == by_name_.end() ? nullptr : it->second;
}

Parameter& Weights::at(Count layer, std::string_view name) {
  if (Parameter* p = find(layer, name)) return *p;
  throw std::logic_error("no parameter " + std::string(name));
}

Count Weights::count() const {
  return std::accumulate(all_.begin(), all_.end(), Count{0},
                         [](Count n, const Parameter& p) { return add(n, p.elements()); });
}

}  // namespace llmcalc::model
