#include "learn/learner.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "calc/memory.hpp"
#include "text/error.hpp"

namespace llmcalc::model {

json::Value settings_json(const LearningSettings& s) {
  return {{"steps", s.steps},           {"batch", s.batch}, {"seq", s.seq},   {"rate", s.rate}, {"warm_up", s.warm_up},
          {"least_rate", s.least_rate}, {"decay", s.decay}, {"clip", s.clip}, {"seed", s.seed}};
}

LearningSettings settings_from(const json::Value& v, const std::string& where) {
  const json::Object o(v, where);
  const LearningSettings usual;
  LearningSettings s{.steps = o.positive("steps"),
                     .batch = o.positive("batch"),
                     .seq = o.positive("seq"),
                     .rate = o.number_or("rate", usual.rate),
                     .warm_up = o.number_or("warm_up", usual.warm_up),
                     .least_rate = o.number_or("least_rate", usual.least_rate),
                     .decay = o.number_or("decay", usual.decay),
                     .clip = o.number_or("clip", usual.clip),
                     .seed = static_cast<std::uint64_t>(o.count("seed"))};
  if (s.rate <= 0) throw InputError(fmt::format("{}, \"rate\": expected a number above 0, got {}", where, s.rate));
  return s;
}

Arch small_arch(Count vocabulary, Count context, Count hidden) {
  Arch a;
  a.layers = 4;
  a.hidden = a.embedding_width = hidden;
  a.vocabulary = vocabulary;
  a.context = context;
  a.head_dim = 32;
  a.heads = a.kv_heads = hidden / a.head_dim;
  a.mlp = MlpKind::gated;
  a.activation = Activation::silu;
  a.mlp_width = mul(32, ceil_div(hidden, 12));
  a.norm = NormKind::rms_norm;
  a.position = Position::rope;
  a.tied_head = true;
  return a;
}

Plan learning_plan(const LearningSettings& s, DType precision) {
  Plan p;
  p.seq = s.seq;
  p.micro_batch = p.global_batch = s.batch;
  p.kv_precision = p.precision = precision;
  p.weight_precision = p.precision;
  return p;
}

Bytes learning_memory(const Arch& arch, const Plan& plan) {
  const llmcalc::Memory m = training_memory(arch, plan);
  return m.peak + 2 * m.weights + m.optimizer;  // plus the best weights, and a checkpoint being written
}

double rate_share(const LearningSettings& s, double done) {
  if (done < s.warm_up) return done / s.warm_up;
  const double along = std::min(1.0, (done - s.warm_up) / (1 - s.warm_up));
  return s.least_rate + (1 - s.least_rate) * 0.5 * (1 + std::cos(std::numbers::pi * along));
}

Learner::Learner(Transformer& t, const Corpus& corpus, const LearningSettings& settings, const std::atomic<bool>* stop)
    : transformer_(t), corpus_(corpus), settings_(settings) {
  t.watch(stop);
}

double Learner::step(double done) {
  const auto before = transformer_.settings().steps;
  const Batch b = corpus_.batch(settings_.seed, static_cast<std::uint64_t>(updates()), settings_.batch, settings_.seq);
  // The first update is one step into the warm-up, not before it.
  const double share = rate_share(settings_, std::max(done, 1.0 / static_cast<double>(settings_.steps + 1)));
  const OptimizerSettings o{.rate = settings_.rate * share, .decay = settings_.decay, .clip = settings_.clip};
  try {
    progress_.loss = transformer_.train(std::span(&b, 1), o);
  } catch (const NotANumber& e) {
    transformer_.settings().steps = before;
    fail(b, e);
  } catch (const Stopped&) {
    transformer_.settings().steps = before;
    throw;
  }
  progress_.updates = updates();
  progress_.micro_batches = static_cast<Count>(transformer_.settings().steps);
  progress_.tokens += static_cast<Count>(b.ids.size());
  best_is_last_ = false;
  return *progress_.loss;
}

/// Reruns the failed step, checking every result.
void Learner::fail(const Batch& b, const NotANumber& e) {
  const std::string op = transformer_.first_not_a_number(b);
  throw NotANumber(fmt::format("step {}: {}{}", updates() + 1, e.what(),
                               op.empty() ? std::string() : ", first in the result of " + op));
}

double Learner::evaluate(Count tokens) {
  const double loss = Corpus::loss(transformer_, corpus_.validation(), tokens);
  if (!std::isfinite(loss)) throw NotANumber(fmt::format("step {}: the validation loss is not finite", updates()));
  if (progress_.validation_loss && loss >= *progress_.validation_loss) return loss;
  progress_.validation_loss = loss;
  best_ = weight_bytes(transformer_);
  best_is_last_ = true;
  return loss;
}

void Learner::resume(const TrainingCheckpoint& c) {
  c.load(transformer_);
  best_ = weight_bytes(transformer_);
  c.resume(transformer_);
  best_is_last_ = best_ == weight_bytes(transformer_);
  progress_ = c.card().progress;
  if (!progress_.validation_loss) best_.clear();  // validation has not run yet
}

void Learner::save(const std::string& path, const ModelCard& model, const std::string& tokenizer,
                   const json::Value& settings) {
  const bool apart = !best_.empty() && !best_is_last_;
  save_checkpoint(path, transformer_,
                  {.model = model, .tokenizer = tokenizer, .progress = progress_, .settings = settings},
                  apart ? &best_ : nullptr);
}

void Learner::take_best() {
  if (!best_.empty()) set_weights(transformer_, best_);
}

}  // namespace llmcalc::model
