#include "model/pass/pass.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "model/parameter_operators.hpp"
#include "model/random.hpp"

namespace llmcalc::model {

Pass::Pass(const Arch& arch, Backend& backend, Arena& arena, Weights& weights, const Settings& settings,
           const Step& step, Trace* trace, Tape* tape, Cache* cache)
    : arch_(arch),
      backend_(backend),
      arena_(arena),
      weights_(weights),
      settings_(settings),
      whole_(step),
      step_(half_step(arch, step, false)),
      kinds_(layer_kinds(arch)),
      module_layer_(step.mtp > 0 ? mtp_layer(arch) : LayerKind()),
      handing_(cross_layer_tensors(kinds_)),
      documents_(step.training ? documents_by_token(settings.plan.documents) : std::vector<DocumentRange>()),
      rotaries_(arch, settings.numerics, llmcalc::add(step.past, step.queries)),
      trace_(trace),
      tape_(tape),
      cache_(cache) {
  if (!documents_.empty() && static_cast<Count>(documents_.size()) != step.queries)
    throw std::logic_error("the documents of a packed sequence do not fill it");
}

Value Pass::make(std::string_view op, Count rows, Count width) {
  return make(Purpose::activations, op, rows, width, backend_.number());
}
Value Pass::make(Purpose purpose, std::string_view op, Count rows, Count width, Bytes each) {
  Value y{arena_.make(purpose, op, mul(rows, width) * each), rows, width, std::make_shared<TapeSlot>()};
  if (checking_) made_ = y;
  return y;
}

/// An additional buffer of the operator, saved for backward.
Tensor Pass::own(std::string_view op, Bytes bytes) {
  Tensor t = arena_.make(Purpose::activations, op, bytes);
  t->claim(op);
  return t;
}

Pass::Saved Pass::keep(std::string_view op, const Value& x) {
  if (x.slot->recompute) return {nullptr, x.slot->recompute};
  // The first layer also saves x, and its bytes count there, unless the layer reads streams.
  if (op == "embedding.per_layer_project" && !arch_.altup) return {x.data, {}};
  x.data->claim(op);
  return {x.data, {}};
}

Pass::Into Pass::into(std::string_view op, const std::shared_ptr<TapeSlot>& x, Count elements) {
  if (!x->asks) return {nowhere(elements * backend_.number()), false};
  const bool there = x->gradient != nullptr;
  if (!there) x->gradient = arena_.make(Purpose::activations, op, elements * backend_.number());
  return {x->gradient->data(), there};
}

Pass::Into Pass::into_rows(std::string_view op, const std::shared_ptr<TapeSlot>& x, Count elements, bool apart) {
  const Into g = into(op, x, elements);
  if (g.add || !apart) return g;
  backend_.zero(g.data, elements * backend_.number());
  return {g.data, true};
}

void Pass::run(std::string_view op, const Shape& shape, Direction direction, const std::function<void()>& f) {
  if (stop_ != nullptr && *stop_) throw Stopped();
  if (trace_ == nullptr)
    f();
  else
    traced(op, shape, direction, f);
  if (checking_) refuse_not_a_number(op);
  if (direction == Direction::backward) end_rule();
}

/// Runs f between two waits, so that the measured time covers only the operator.
void Pass::traced(std::string_view op, const Shape& shape, Direction direction, const std::function<void()>& f) {
  backend_.wait();
  const Flops before = backend_.done();
  const Count beside = backend_.beside();
  if (trace_->before) trace_->before(op, shape, direction);
  const auto start = std::chrono::steady_clock::now();
  f();
  backend_.wait();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (trace_->after) trace_->after();
  trace_->push_back(
      {op, shape, direction, layer_, backend_.done() - before, Seconds(seconds), backend_.beside() - beside});
}

/// In-place operators are checked through the last allocated result, which they modify.
void Pass::refuse_not_a_number(std::string_view op) const {
  if (!made_.data) return;
  std::vector<double> numbers(static_cast<std::size_t>(made_.elements()));
  backend_.read(numbers, made_.data->data(), made_.data->bytes() != made_.elements() * backend_.number());
  if (std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); })) return;
  const Count layers = mul(arch_.layers, halves(arch_));
  const std::string place = in_module()  ? " in module " + std::to_string((layer_ - layers) / halves(arch_) + 1)
                            : layer_ < 0 ? ""
                                         : " in layer " + std::to_string(layer_);
  throw NotANumber(std::string(op) + place);
}

void Pass::forward(std::string_view op, const Shape& shape, const std::function<void()>& f) {
  run(op, shape, direction_, f);
}

void Pass::remember(std::string_view op, const Shape& shape, std::function<void()> rule) {
  tape_->remember([this, op, shape, layer = layer_, rule = std::move(rule)] {
    layer_ = layer;
    run(op, shape, Direction::backward, rule);
  });
}

/// Dropout of this operator in this layer and step; disabled if the step has no dropout.
Dropout Pass::dice(std::string_view op) const {
  if (!step_.dropout) return {};
  std::uint64_t name = 1469598103934665603ULL;  // FNV-1a
  for (const char c : op) name = (name ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  const std::uint64_t stream = name ^ (static_cast<std::uint64_t>(layer_ + 1) << 40U);
  return {.p = settings_.dropout,
          .key = dropout_key(settings_.seed, settings_.steps, stream),
          .seed = settings_.seed,
          .steps = settings_.steps,
          .stream = stream};
}

Parameter* Pass::weight(std::string_view op, std::string_view what) const {
  const std::string name = std::string(op) + "." + std::string(what);
  Parameter* const own = weights_.find(layer_, name);
  if (own == nullptr && in_module()) return weights_.find(-1, name);
  constexpr std::string_view again = "altup.result_";  // the correction uses the prediction's norm and router
  if (own == nullptr && name.starts_with(again)) return weights_.find(layer_, "altup." + name.substr(again.size()));
  return own;
}

bool Pass::borrows(std::string_view op) const { return weights_.find(layer_, std::string(op) + ".weight") == nullptr; }

Parameter& Pass::matrix(std::string_view op) const {
  if (Parameter* const found = weight(op, "weight")) return *found;
  const bool is_table = op == "head.logits" || op == "mtp.tokens";
  return weights_.at(-1, is_table ? "embedding.tokens.weight" : op);
}

void Pass::enter(Count layer) {
  layer_ = layer;
  step_ = half_step(arch_, whole_, layer >= 0 && mixer().bidirectional);
  if (layer < 0 || mixer().indexer.runs()) choice_ = nullptr;
}

namespace {

/// Whether any parameter of `n` layers, starting at `first`, is trained.
bool trains_some(const Weights& weights, Count first, Count n) {
  const std::vector<const Parameter*> all = weights.trained();
  return std::any_of(all.begin(), all.end(), [&](const Parameter* p) {
    const Count layer = ParameterName(p->shape.name).layer;
    return layer >= first && layer < first + n;
  });
}

}  // namespace

Value Pass::checkpoint(Value given, const std::function<Value(Value)>& block) {
  const bool back = taping() && (given.slot->asks || trains_some(weights_, arch_.weights_of(layer_), halves(arch_)));
  if (!back) return block(std::move(given));
  Value x = std::move(given);
  const Count layer = layer_;
  Tape* const tape = std::exchange(tape_, nullptr);
  Value y = block(x);
  tape_ = tape;
  const bool asks = y.slot->asks;
  y.slot = std::make_shared<TapeSlot>();
  y.slot->asks = asks;
  x.data->claim("block.input");
  if (choice_) choice_->claim("attn.index_scores");
  tape_->remember([this, x, block, layer, choice = choice_, y_slot = y.slot]() mutable {
    Tape again;
    Tape* const outer = std::exchange(tape_, &again);
    choice_ = std::exchange(choice, nullptr);
    enter(layer);
    direction_ = Direction::recompute;
    block(std::move(x)).slot->gradient = std::exchange(y_slot->gradient, nullptr);
    direction_ = Direction::forward;
    choice_ = nullptr;
    again.backward();
    tape_ = outer;
  });
  return y;
}

}  // namespace llmcalc::model
