#include "model/weights.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "calc/block/program.hpp"
#include "calc/training/muon.hpp"
#include "model/cpu/workers.hpp"
#include "model/math/dynamic_codes.hpp"
#include "model/parameter_operators.hpp"
#include "model/random.hpp"
#include "text/error.hpp"

namespace llmcalc::model {

Weights::Weights(const Arch& arch, Backend& backend, Arena& arena, std::optional<std::uint64_t> seed, Count modules,
                 const ParameterFormats& formats, const Adapters& adapters)
    : arch_(arch), backend_(backend), arena_(arena) {
  for (const ParameterShape& s : with_adapters(parameter_shapes(arch, modules), adapters)) {
    Parameter& p = all_.emplace_back(Parameter{s, {}, {}, {}, {}, {}});
    if (formats) p.format = formats(s);
    const Bytes bytes = p.format ? p.coded_groups() * p.coded().bytes() : backend.number() * s.elements();
    p.value = arena.make(Purpose::weights, "", bytes);
    by_name_[s.name] = &p;
    if (seed) start(p, all_.size(), arch.layers, *seed);
  }
}

/// Draws normal values of mean 0 in blocks. Value i does not depend on the number of threads.
void Weights::draw(Parameter& p, std::uint64_t stream, double deviation, std::uint64_t seed) {
  const Count block = p.format ? p.elements() : 1 << 20;  // quantization needs all values of a group
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
    if (p.format) return set(p, values);
    auto* at = static_cast<std::byte*>(p.value->data()) + (first * backend_.number()).value;
    backend_.write(at, values, false);
  }
}

namespace {

/// Divides n values into segments that fit in cache, and calls f(first, values) for each.
template <typename F>
void each_stretch(Count n, const F& f) {
  constexpr Count block = 1 << 18;
  std::vector<double> values;
  for (Count first = 0; first < n; first += block) {
    values.resize(static_cast<std::size_t>(std::min(block, n - first)));
    f(first, values);
  }
}

}  // namespace

/// Converts values from the backend's format to its wide format.
void Weights::widen(const void* from, void* to, Count n) const {
  each_stretch(n, [&](Count first, std::vector<double>& values) {
    backend_.read(values, static_cast<const std::byte*>(from) + (first * backend_.number()).value, false);
    backend_.write(static_cast<std::byte*>(to) + (first * backend_.wide()).value, values, true);
  });
}

void Weights::add_gradient(Parameter& p, const void* more) {
  const bool blank = std::exchange(p.blank, false);
  each_stretch(p.elements(), [&](Count first, std::vector<double>& values) {
    auto* const to = static_cast<std::byte*>(p.gradient->data()) + (first * backend_.number()).value;
    backend_.read(values, static_cast<const std::byte*>(more) + (first * backend_.wide()).value, true);
    std::vector<double> sums(blank ? 0 : values.size());
    backend_.read(sums, to, false);
    for (std::size_t i = 0; i < sums.size(); ++i) values[i] += sums[i];
    backend_.write(to, values, false);
  });
}

namespace {

/// Initial value of weights that all start with the same value.
double same_start(Start s) {
  if (s == Start::one) return 1;
  if (s == Start::half) return 0.5;
  return s == Start::step ? short_step : 0;
}

}  // namespace

void Weights::start(Parameter& p, std::size_t index, Count layers, std::uint64_t seed) {
  if (p.shape.start == Start::normal) return draw(p, index, 0.02, seed);
  if (p.shape.start == Start::residual)
    return draw(p, index, 0.02 / std::sqrt(2.0 * static_cast<double>(layers)), seed);
  set(p, std::vector<double>(static_cast<std::size_t>(p.elements()), same_start(p.shape.start)));
}

void Weights::set(Parameter& p, std::span<const double> values) {
  if (p.format) return set_codes(p, values);
  backend_.write(p.value->data(), values, false);
  if (p.master) backend_.write(p.master->data(), values, true);
}

void Weights::set_codes(Parameter& p, std::span<const double> values) {
  const CodedShape shape = p.coded();
  std::vector<std::byte> codes(static_cast<std::size_t>(shape.bytes().value));
  const std::size_t each = values.size() / static_cast<std::size_t>(p.coded_groups());
  auto* to = static_cast<std::byte*>(p.value->data());
  for (std::size_t first = 0; first < values.size(); first += each, to += codes.size()) {
    const std::vector<float> group(values.begin() + static_cast<std::ptrdiff_t>(first),
                                   values.begin() + static_cast<std::ptrdiff_t>(first + each));
    encode(shape, group, codes.data());
    backend_.upload(to, codes.data(), shape.bytes());
  }
}

const void* Weights::numbers(const Parameter* p) {
  if (p == nullptr) return nullptr;
  if (!p->format) return p->value->data();
  const std::string kind = p->shape.name.substr(p->shape.name.rfind('.') + 1);
  auto* const all =
      static_cast<std::byte*>(numbers_.try_emplace(kind, backend_).first->second.of(p->elements() * backend_.number()));
  const CodedShape shape = p->coded();
  const auto* const codes = static_cast<const std::byte*>(p->value->data());
  for (Count g = 0; g < p->coded_groups(); ++g)
    backend_.decode(shape, 0, shape.rows, codes + g * shape.bytes().value,
                    all + (mul(g, shape.rows, shape.width) * backend_.number()).value);
  return all;
}

std::vector<double> Weights::get(const Tensor& t, Count elements, bool wide) const {
  std::vector<double> values(static_cast<std::size_t>(elements));
  backend_.read(values, t->data(), wide);
  return values;
}

Tensor Weights::zeros(Purpose purpose, Bytes bytes) {
  Tensor t = arena_.make(purpose, "", bytes);
  backend_.zero(t->data(), bytes);
  return t;
}
Tensor Weights::wide_tensor(Purpose purpose, const Parameter& p) {
  return zeros(purpose, backend_.wide() * p.elements());
}

/// Allocates a parameter's optimizer state; see calc/training/optimizer_state.cpp.
void Weights::make_states(Parameter& p, const Plan& plan) {
  const auto state = [&](Count n) {
    return zeros(Purpose::optimizer, n * (states_ == StateFormat::wide ? backend_.wide() : Bytes(2)));
  };
  const OptimizerTraits& t = traits(plan.optimizer);
  const Count moments = p.whole ? t.matrix_moments : t.moments;
  switch (t.storage) {
    case MomentStorage::coded:  // one tensor for all parameters
      return;
    case MomentStorage::plain:
      if (moments > 0) p.first = state(p.elements());
      if (moments > 1) p.second = state(p.elements());
      return;
    case MomentStorage::factored:
      if (p.whole) p.first = zeros(Purpose::optimizer, mul(p.shape.groups, p.shape.out) * backend_.wide());
      p.second =
          zeros(Purpose::optimizer, (p.whole ? mul(p.shape.groups, p.shape.in) : p.elements()) * backend_.wide());
      return;
  }
}

namespace {

StateFormat state_format(DType t) {
  if (t == dtypes::bf16) return StateFormat::bf16;
  return t == dtypes::fp16 ? StateFormat::fp16 : StateFormat::wide;
}

/// Whether the optimizer updates each of a parameter's matrices as a whole.
bool is_updated_whole(Optimizer optimizer, const ParameterShape& p, const ParameterOperators& operators) {
  const OptimizerTraits& t = traits(optimizer);
  if (!t.updates_matrices() || !operators.is_matrix(p)) return false;
  return !t.orthogonalizes || muon_matrices(operators.of(p)) != Matrices();
}

}  // namespace

void Weights::make_trainable(const Plan& plan) {
  optimizer_ = plan.optimizer;
  states_ = backend_.wide() == Bytes(4) ? state_format(plan.state_precision) : StateFormat::wide;
  rounds_gradients_ = backend_.number() == Bytes(plan.gradient_bytes) && backend_.number() < backend_.wide();
  const ParameterOperators operators(arch_, plan, training_step(plan));
  for (Parameter& p : all_) {
    if (operators.of(p.shape).is_frozen()) continue;
    p.whole = is_updated_whole(plan.optimizer, p.shape, operators);
    p.gradient = zeros(Purpose::gradients, p.elements() * (rounds_gradients_ ? backend_.number() : backend_.wide()));
    if (plan.master && backend_.number() < backend_.wide()) {
      p.master = wide_tensor(Purpose::optimizer, p);
      widen(p.value->data(), p.master->data(), p.elements());
    }
    make_states(p, plan);
  }
  if (const OptimizerTraits& t = traits(plan.optimizer); t.storage == MomentStorage::coded)
    coded_moments_ = zeros(Purpose::optimizer, coded_moment_bytes(t, count_trained()));
}

void Weights::zero_gradients() {
  for (Parameter& p : all_) p.blank = true;
}
void Weights::fill_blanks() {
  for (Parameter& p : all_) sum(&p);
}
std::vector<ParameterUpdate> Weights::updates() {
  std::vector<ParameterUpdate> all;
  wide_gradients_.clear();
  const auto gradient = [this](const Parameter& p) {
    if (!rounds_gradients_) return p.gradient->data();
    void* const wide = wide_gradients_.emplace_back(backend_).of(p.elements() * backend_.wide());
    widen(p.gradient->data(), wide, p.elements());
    return wide;
  };
  for (Parameter& p : all_) {
    if (!p.gradient) continue;
    all.push_back({.n = p.elements(),
                   .gradient = gradient(p),
                   .weight = data(p.value),
                   .master = data(p.master),
                   .first = data(p.first),
                   .second = data(p.second),
                   .decays = p.decays(),
                   .groups = p.shape.groups,
                   .out = p.whole ? p.shape.out : 0,
                   .in = p.shape.in,
                   .states = states_});
  }
  return all;
}
std::vector<const Parameter*> Weights::trained() const {
  std::vector<const Parameter*> some;
  for (const Parameter& p : all_)
    if (p.gradient) some.push_back(&p);
  return some;
}
void Weights::gradients_written() {
  for (Parameter& p : all_) p.blank = false;
}
void* Weights::sum(Parameter* p) {
  if (p == nullptr || !p->gradient) return nullptr;
  if (std::exchange(p->blank, false)) backend_.zero(p->gradient->data(), p->gradient->bytes());
  return p->gradient->data();
}

namespace {

/// Full name of a parameter that a layer uses. A layer that repeats another layer uses that layer's parameters; the
/// norm between two runs is the model's final norm.
std::string whole_name(const Arch& arch, Count layer, std::string_view name) {
  if (name.starts_with("run.norm")) return "head" + std::string(name.substr(3));
  if (layer < 0) return std::string(name);
  return "layers." + std::to_string(arch.weights_of(layer)) + "." + std::string(name);
}

}  // namespace

Parameter* Weights::find(Count layer, std::string_view name) {
  const auto it = by_name_.find(whole_name(arch_, layer, name));
  return it == by_name_.end() ? nullptr : it->second;
}

Parameter& Weights::at(Count layer, std::string_view name) {
  if (Parameter* p = find(layer, name)) return *p;
  throw std::logic_error("unknown parameter " + std::string(name));
}

/// Returns any one parameter of an operator. One is enough, since either all of its parameters are trained or all are
/// frozen.
const Parameter* Weights::of_operator(Count layer, std::string_view op) const {
  const std::string first = whole_name(arch_, layer, op) + ".";
  const auto it = by_name_.lower_bound(first);
  return it != by_name_.end() && it->first.starts_with(first) ? it->second : nullptr;
}

Count Weights::count() const {
  return std::accumulate(all_.begin(), all_.end(), Count{0},
                         [](Count n, const Parameter& p) { return add(n, p.elements()); });
}
Count Weights::count_trained() const {
  return std::accumulate(all_.begin(), all_.end(), Count{0},
                         [](Count n, const Parameter& p) { return p.gradient ? add(n, p.elements()) : n; });
}

}  // namespace llmcalc::model
