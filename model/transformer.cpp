#include "model/transformer.hpp"

#include <cmath>

#include "calc/program.hpp"
#include "presets/error.hpp"

namespace llmcalc::model {
namespace {

const Arch& runnable(const Arch& a) {
  if (!a.linear_layers.empty())
    throw InputError(
        "the reference transformer has no linear attention, which this model's layers use; its numbers "
        "can be calculated but not run");
  if (a.activation == Activation::xielu)
    throw InputError(
        "the reference transformer has no xIELU, which this model uses; its numbers can be calculated "
        "but not run");
  return a;
}

}  // namespace

Transformer::Transformer(const Arch& arch, Backend& backend, const Settings& settings, std::uint64_t seed)
    : arch_(runnable(arch)),
      backend_(backend),
      arena_(backend),
      settings_(settings),
      weights_(arch_, backend, arena_, seed) {}

Step Transformer::training_step() const { return llmcalc::training_step(settings_.plan); }

double Transformer::gradients(const Batch& batch, double scale, Trace* trace,
                              const std::function<void()>& at_end_of_forward) {
  Tape tape;
  Pass pass(arch_, backend_, arena_, weights_, settings_, training_step(), trace, &tape, nullptr);
  pass.watch(stop_);
  pass.set_loss_scale(scale);
  const double loss = pass.loss("head.loss", forward(pass, batch.ids), batch.targets);
  if (at_end_of_forward) at_end_of_forward();
  if (!std::isfinite(loss)) throw NotANumber("the loss is not a number");
  tape.backward();
  weights_.fill_blanks();
  return loss;
}

double Transformer::update(const OptimizerSettings& o) {
  weights_.fill_blanks();
  double square = 0;
  const Parameter* bad = nullptr;  // the last in the model is the first in backward
  for (const Parameter& p : weights_.all()) {
    const double own = backend_.square_sum(p.elements(), p.gradient->data());
    if (!std::isfinite(own)) bad = &p;
    square += own;
  }
  const double norm = std::sqrt(square);
  if (!std::isfinite(norm))
    throw NotANumber("the gradient is not a number" + (bad != nullptr ? ", first that of " + bad->shape.name : ""));
  ++updates_;
  for (Parameter& p : weights_.all()) {
    if (o.clip > 0 && norm > o.clip) backend_.multiply_by(p.elements(), o.clip / norm, p.gradient->data());
    const double decay = p.decays() ? o.decay : 0;
    if (p.second)
      backend_.adamw(p.elements(), {o.rate, o.beta1, o.beta2, o.epsilon, decay, updates_}, p.gradient->data(),
                     p.value->data(), data(p.master), p.first->data(), p.second->data());
    else
      backend_.sgd(p.elements(), {o.rate, o.momentum, decay}, p.gradient->data(), p.value->data(), data(p.master),
                   data(p.first));
  }
  backend_.wait();
  return norm;
}

double Transformer::train(std::span<const Batch> micro_batches, const OptimizerSettings& o, Trace* trace) {
  weights_.zero_gradients();
  double loss = 0;
  for (const Batch& b : micro_batches) {
    loss += gradients(b, 1.0 / static_cast<double>(micro_batches.size()), trace);
    ++settings_.steps;
  }
  update(o);
  return loss / static_cast<double>(micro_batches.size());
}

double Transformer::loss(const Batch& batch, Trace* trace) {
  Pass pass(arch_, backend_, arena_, weights_, settings_, training_step(), trace, nullptr, nullptr);
  pass.watch(stop_);
  return pass.loss("head.loss", forward(pass, batch.ids), batch.targets);
}

std::string Transformer::first_not_a_number(const Batch& batch) {
  Pass pass(arch_, backend_, arena_, weights_, settings_, training_step(), nullptr, nullptr, nullptr);
  pass.check_numbers();
  try {
    forward(pass, batch.ids);
  } catch (const NotANumber& e) {
    return e.what();
  }
  return {};
}

std::vector<double> Transformer::logits(std::span<const std::int64_t> ids, Count sequences, Count past, Cache* cache,
                                        Trace* trace) {
  const Count queries = static_cast<Count>(ids.size()) / sequences;
  Step s = past == 0 ? prefill_step(settings_.plan, queries) : decode_step(settings_.plan, past + 1);
  s.sequences = sequences, s.queries = queries;
  Pass pass(arch_, backend_, arena_, weights_, settings_, s, trace, nullptr, cache);
  pass.watch(stop_);
  const Value y = forward(pass, ids);
  std::vector<double> out(static_cast<std::size_t>(y.elements()));
  backend_.read(out, y.data->data(), false);
  return out;
}

std::vector<double> Transformer::all_logits(std::span<const std::int64_t> ids, Count sequences) {
  Step s = training_step();
  s.dropout = false, s.sequences = sequences, s.queries = static_cast<Count>(ids.size()) / sequences;
  Pass pass(arch_, backend_, arena_, weights_, settings_, s, nullptr, nullptr, nullptr);
  const Value y = forward(pass, ids);
  std::vector<double> out(static_cast<std::size_t>(y.elements()));
  backend_.read(out, y.data->data(), true);
  return out;
}

}  // namespace llmcalc::model
