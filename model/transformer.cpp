#include "model/transformer.hpp"

#include <cmath>

#include "calc/block/program.hpp"
#include "text/error.hpp"

namespace llmcalc::model {
namespace {

/// Rejects mixers that the reference transformer does not support.
void require_mixer(const Mixer& m) {
  if (m.recurrent.state_bytes != 4)
    throw InputError("the reference transformer supports only float32 recurrent states, but this model's states have " +
                     std::to_string(m.recurrent.state_bytes) + " bytes per element; set \"state_bytes\": 4");
  if (m.recurrent.kind == RecurrentKind::mamba && m.recurrent.head_dim == 1 && m.recurrent.chunk > 0)
    throw InputError("the reference transformer scans Mamba-1 channels token by token; omit \"chunk\"");
}

/// Rejects relative positions in layers whose heads do not match their stack's table.
void require_distances(const Arch& a) {
  if (a.position != Position::relative || a.layer_distances) return;
  const Mixer& decoder = a.mixer(a.mixers.size());
  for (std::size_t i = 0; i <= a.mixers.size(); ++i) {
    const Mixer& m = a.mixer(i);
    const bool grouped = m.attention == AttentionKind::grouped;
    if (grouped && m.heads == (m.bidirectional ? a.heads : decoder.heads)) continue;
    throw InputError(
        "the reference transformer supports relative positions only in stacks whose layers all use grouped attention "
        "with the same number of heads, unlike this model; it can be calculated but not run");
  }
}

/// Rejects encoder-decoders with inputs other than tokens, or with blocks other than T5's.
void require_stacks(const Arch& a) {
  const bool more = a.embedding_width != a.hidden || a.learned_rows() > 0 || a.token_types > 0 || a.embedding_norm ||
                    a.per_layer.width > 0;
  if (a.is_encoder_decoder() && (more || a.block != BlockKind::serial || a.streams > 1 || !a.final_norm))
    throw InputError(
        "the reference transformer supports encoder-decoders only with serial blocks on one residual stream, a final "
        "norm and only token embeddings, unlike this model; it can be calculated but not run");
}

bool has_rg_lru(const Arch& a) {
  for (std::size_t i = 0; i <= a.mixers.size(); ++i)
    if (a.mixer(i).recurrent.kind == RecurrentKind::rg_lru) return true;
  return false;
}

}  // namespace

const Arch& runnable(const Arch& a, const Backend& b) {
  for (std::size_t i = 0; i <= a.mixers.size(); ++i) require_mixer(a.mixer(i));
  if (const std::string lack = b.lacks(a); !lack.empty())
    throw InputError("the CUDA kernels do not support " + lack + ", which this model's layers use; use --device cpu");
  require_distances(a);
  require_stacks(a);
  if (a.activation == Activation::xielu && (a.per_layer.width > 0 || has_rg_lru(a)))
    throw InputError(
        "the reference transformer supports xIELU only in MLPs, but this model applies it to per-layer inputs or an "
        "RG-LRU; it can be calculated but not run");
  return a;
}

namespace {
/// Rejects MTP modules on a GPU, and modules whose layers read results of the model's layers.
void require_modules(const Arch& a, const Backend& b) {
  if (!b.runs_modules())
    throw InputError("the CUDA kernels do not support MTP modules; omit --mtp or use --device cpu");
  const LayerKind layer = mtp_layer(a);
  const bool alone = !a.altup && a.residual_block == 0 && a.position != Position::relative && !layer.reads_kv &&
                     !a.mixer(layer.mixer).indexer.shared && !a.is_encoder() && !a.is_encoder_decoder();
  if (!alone)
    throw InputError(
        "the reference transformer supports only MTP modules whose layers do not read results of other layers, unlike "
        "this model; omit --mtp");
}

const Settings& computable(const Arch& a, const Settings& s, const Backend& b) {
  if (s.plan.mtp > 0) require_modules(a, b);
  if (!b.computes(s.numerics))
    throw InputError(
        "the CUDA kernels do not support this model's norms, scales, caps or rotary positions; use --device cpu");
  return s;
}

}  // namespace

Transformer::Transformer(const Arch& arch, Backend& backend, const Settings& settings,
                         std::optional<std::uint64_t> seed)
    : arch_(runnable(arch, backend)),
      backend_(backend),
      arena_(backend),
      settings_(computable(arch_, settings, backend)),
      weights_(arch_, backend, arena_, seed, settings_.plan.mtp,
               settings.coded ? parameter_formats(arch_, settings.plan) : ParameterFormats(),
               {.rank = settings_.plan.lora_rank, .targets = settings_.plan.lora_targets}) {}

Step Transformer::training_step() const { return llmcalc::training_step(settings_.plan); }

double Transformer::gradients(const Batch& batch, double scale, Trace* trace,
                              const std::function<void()>& at_end_of_forward) {
  const StepReport report(backend_, 1, 0);
  double loss = 0;
  add_gradients(batch, scale, trace, report.loss(0), [&] {
    loss = report.read().losses[0];
    if (at_end_of_forward) at_end_of_forward();
    if (!std::isfinite(loss)) throw NotANumber("the loss is not finite");
  });
  return loss;
}

void Transformer::ask_loss(Pass& pass, const Batch& batch, double* loss) {
  if (pass.step().mtp > 0) return ask_losses(pass, batch, loss);
  Value y = forward(pass, pass.tokens(batch.ids, batch.targets));
  arch_.head.has_logits() ? pass.loss("head.loss", std::move(y), batch.targets, loss) : pass.mean(y, loss);
}

void Transformer::add_gradients(const Batch& batch, double scale, Trace* trace, double* loss,
                                const std::function<void()>& at_end_of_forward) {
  if (settings_.numerics.score_cap > 0 && settings_.plan.attention == AttentionImpl::naive)
    throw InputError(
        "naive attention does not save the scores, which the gradient of this model's score cap requires; use "
        "--attention flash");
  Tape tape;
  Pass pass(arch_, backend_, arena_, weights_, settings_, training_step(), trace, &tape, nullptr);
  pass.watch(stop_);
  pass.set_loss_scale(scale);
  ask_loss(pass, batch, loss);
  if (at_end_of_forward) at_end_of_forward();
  tape.backward();
  weights_.fill_blanks();
}

double Transformer::update(const OptimizerSettings& o) {
  weights_.fill_blanks();
  const StepReport report(backend_, 0, weights_.trained().size());
  ask_update(o, report);
  return finished(report.read());
}

/// Queues the weight update, which is skipped if a loss or the gradient is NaN.
void Transformer::ask_update(const OptimizerSettings& o, const StepReport& report) {
  const std::vector<ParameterUpdate> all = weights_.updates();
  backend_.square_sums(all, report.square(0));
  backend_.clip(report.losses(), report.squares(), o.clip, report.norm());
  if (o.clip > 0) backend_.multiply_by(all, report.factor());
  backend_.update(all, {.optimizer = weights_.optimizer(),
                        .rate = o.rate,
                        .beta1 = o.beta1,
                        .beta2 = o.beta2,
                        .epsilon = o.epsilon,
                        .decay = o.decay,
                        .momentum = o.momentum,
                        .step = updates_ + 1,
                        .iterations = settings_.plan.newton_schulz_steps,
                        .factor = report.factor(),
                        .coded = weights_.coded_moments()});
}

/// Returns the gradient norm of a completed update. Throws NotANumber if the update was skipped.
double Transformer::finished(const StepReport::Numbers& r) {
  for (const double loss : r.losses)
    if (!std::isfinite(loss)) throw NotANumber("the loss is not finite");
  if (!std::isfinite(r.norm)) {
    std::string bad;  // the last parameter in model order is the first in backward
    for (std::size_t i = 0; i < r.squares.size(); ++i)
      if (!std::isfinite(r.squares[i])) bad = weights_.trained()[i]->shape.name;
    throw NotANumber("the gradient is not finite" + (bad.empty() ? bad : ", first for " + bad));
  }
  ++updates_;
  return r.norm;
}

TrainingStep& Transformer::training_step_of(const OptimizerSettings& o, std::size_t batches) {
  Settings now = settings_;
  OptimizerSettings alike = o;
  now.steps = 0;
  alike.rate = 0;
  const Tensor& gradient = weights_.trained().front()->gradient;
  const bool there = training_ != nullptr && training_->settings == now && training_->optimizer == alike &&
                     training_->report.losses().size() == batches && training_->gradient.lock() == gradient;
  if (!there) {
    training_ = nullptr;
    training_.reset(new TrainingStep{now, alike, gradient, {backend_, batches, weights_.trained().size()}, {}, {}, {}});
  }
  return *training_;
}

double Transformer::train(std::span<const Batch> micro_batches, const OptimizerSettings& o, Trace* trace) {
  if (stop_ != nullptr && *stop_) throw Stopped();
  const std::size_t n = micro_batches.size();
  const std::uint64_t first = settings_.steps;
  TrainingStep& saved = training_step_of(o, n);
  weights_.zero_gradients();
  for (std::size_t i = 0; i < n; ++i) {
    const Batch& b = micro_batches[i];
    settings_.steps = first + i;
    const auto micro_batch = [&] {
      add_gradients(b, 1.0 / static_cast<double>(n), trace, saved.report.last_loss(), {});
    };
    const Moving moving{.tokens = {b.ids, b.targets}, .steps = settings_.steps};
    Replayed& as_before = i == 0 ? saved.first : saved.more;
    trace != nullptr ? micro_batch() : as_before.run(backend_, arena_, moving, micro_batch);
    weights_.gradients_written();
    backend_.copy(saved.report.loss(i), saved.report.last_loss(), Bytes(sizeof(double)));
  }
  const auto update = [&] { ask_update(o, saved.report); };
  trace != nullptr ? update() : saved.update.run(backend_, arena_, {.rate = o.rate, .step = updates_ + 1}, update);
  settings_.steps = first + n;
  const StepReport::Numbers numbers = saved.report.read();
  finished(numbers);
  double loss = 0;
  for (const double l : numbers.losses) loss += l;
  return loss / static_cast<double>(n);
}

double Transformer::loss(const Batch& batch, Trace* trace) {
  const StepReport report(backend_, 1, 0);
  Pass pass(arch_, backend_, arena_, weights_, settings_, training_step(), trace, nullptr, nullptr);
  pass.watch(stop_);
  ask_loss(pass, batch, report.loss(0));
  return report.read().losses[0];
}

std::string Transformer::first_not_a_number(const Batch& batch) {
  Pass pass(arch_, backend_, arena_, weights_, settings_, training_step(), nullptr, nullptr, nullptr);
  pass.check_numbers();
  const StepReport report(backend_, 1, 0);
  try {
    if (settings_.plan.mtp > 0 || settings_.plan.logits.chunks > 1)
      ask_loss(pass, batch, report.loss(0));
    else
      forward(pass, pass.tokens(batch.ids, batch.targets));
  } catch (const NotANumber& e) {
    return e.what();
  }
  return {};
}

std::vector<double> Transformer::logits(std::span<const std::int64_t> ids, Count sequences, Count past, Cache* cache,
                                        Trace* trace) {
  const Count queries = static_cast<Count>(ids.size()) / sequences;
  Step s = past == 0 ? prefill_step(settings_.plan, queries) : decode_step(settings_.plan, past + 1);
  s.sequences = sequences;
  s.queries = queries;
  if (cache != nullptr && arch_.is_encoder_decoder() && past == 0 && queries != settings_.plan.prompt)
    throw std::logic_error("the cache holds an encoder text of exactly the plan's length");
  const auto ask = [&](const std::function<void(const Value&)>& take) {
    Pass pass(arch_, backend_, arena_, weights_, settings_, s, trace, nullptr, cache);
    pass.watch(stop_);
    take(forward(pass, pass.tokens(ids, {})));
  };
  // Only flash decoding has the same tensor sizes for every token; naive attention's scores grow.
  if (cache == nullptr || past == 0 || queries > 1 || trace != nullptr ||
      settings_.plan.attention != AttentionImpl::flash) {
    std::vector<double> out;
    ask([&](const Value& y) {
      out.resize(static_cast<std::size_t>(y.elements()));
      backend_.read(out, y.data->data(), false);
    });
    return out;
  }
  if (stop_ != nullptr && *stop_) throw Stopped();
  DecodingStep& saved = decoding_step_of(*cache, sequences);
  saved.step.run(backend_, arena_, {.tokens = {ids}, .past = past}, [&] {
    ask([&](const Value& y) { backend_.copy(saved.logits.data(), y.data->data(), saved.logits.bytes()); });
  });
  std::vector<double> out(
      static_cast<std::size_t>(mul(sequences, arch_.vocabulary)));  // allocated while the device works
  backend_.read(out, saved.logits.data(), false);
  return out;
}

DecodingStep& Transformer::decoding_step_of(Cache& cache, Count sequences) {
  Settings now = settings_;
  now.steps = 0;
  if (cache.decoding == nullptr || cache.decoding->settings != now || cache.decoding->sequences != sequences) {
    cache.decoding = nullptr;
    const Bytes logits = mul(sequences, arch_.vocabulary) * backend_.number();
    cache.decoding.reset(new DecodingStep{now, sequences, {backend_, logits}, {}});
  }
  return *cache.decoding;
}

std::vector<double> Transformer::all_logits(std::span<const std::int64_t> ids, Count sequences,
                                            std::span<const std::int64_t> targets) {
  Step s = training_step();
  s.dropout = false;
  s.sequences = sequences;
  s.queries = static_cast<Count>(ids.size()) / sequences;
  Settings whole = settings_;
  whole.plan.logits.chunks = 1;
  Pass pass(arch_, backend_, arena_, weights_, whole, s, nullptr, nullptr, nullptr);
  const Value y = forward(pass, pass.tokens(ids, targets.empty() ? ids : targets));
  std::vector<double> out(static_cast<std::size_t>(y.elements()));
  backend_.read(out, y.data->data(), arch_.head.has_logits() && pass.wide_logits());
  return out;
}

}  // namespace llmcalc::model
