#include "validate/measure.hpp"

#include <algorithm>

#include "calc/operator/pricing.hpp"
#include "model/random.hpp"

namespace llmcalc::validate {
namespace {

using model::Direction;
using model::Purpose;

void add_trace(Ledger& l, const model::Trace& trace) {
  for (const model::Ran& r : trace) {
    l.order.push_back({std::string(r.name), r.shape, r.direction});
    auto& back = r.direction == Direction::backward ? l.backward : l.recompute;
    auto& to = r.direction == Direction::forward ? l.forward : back;
    if (r.flops != Flops()) to[std::string(r.name)] += static_cast<Count>(r.flops.value);
    if (r.beside > 0) l.beside[std::string(r.name)] += r.beside;
  }
}

/// Number of micro-batches in an optimizer step; 1 if the plan has no global batch.
Count steps(const Plan& p) { return std::max<Count>(1, micro_batches(p, {})); }

Count bytes(const model::Arena& a, Purpose p) { return a.live(p).value; }

}  // namespace

model::Batch random_batch(const Arch& arch, Count tokens, std::uint64_t seed) {
  model::Batch b;
  const auto token = [&](Count i) {
    const model::RandomWords at = model::random_counter(static_cast<std::uint64_t>(i));
    return static_cast<std::int64_t>(model::uniform<double>(model::random_key(seed), at) *
                                     static_cast<double>(arch.vocabulary));
  };
  for (Count i = 0; i < tokens; ++i) {
    b.ids.push_back(token(i));
    b.targets.push_back(token(i + 1));
  }
  return b;
}

std::vector<model::Batch> random_step(const Arch& arch, const Plan& plan, std::uint64_t seed) {
  std::vector<model::Batch> all;
  for (Count i = 0; i < steps(plan); ++i)
    all.push_back(random_batch(arch, mul(plan.micro_batch, plan.seq), seed + static_cast<std::uint64_t>(i)));
  return all;
}

Ledger measured_training(model::Transformer& t, std::uint64_t seed) {
  const Plan& plan = t.settings().plan;
  model::Arena& a = t.arena();
  Ledger l;
  model::Trace trace;
  t.weights().zero_gradients();
  a.reset_peak();
  const auto at_end_of_forward = [&] {
    l.bytes = {{"weights", bytes(a, Purpose::weights)},
               {"gradients", bytes(a, Purpose::gradients)},
               {"optimizer", bytes(a, Purpose::optimizer)},
               {"activations", bytes(a, Purpose::activations)},
               {"logits", bytes(a, Purpose::logits)}};
    for (const auto& [op, held] : a.by_operator(Purpose::activations)) l.saved[std::string(op)] = held.value;
  };
  for (const model::Batch& batch : random_step(t.arch(), plan, seed)) {
    trace.clear();
    t.gradients(batch, 1, &trace, at_end_of_forward);
  }
  Count known = 0;
  for (const auto& [name, held] : l.bytes) known += held;
  l.bytes["peak"] = a.peak().value;
  l.bytes["workspace"] = std::max<Count>(0, a.peak().value - known);
  l.bytes["parameters"] = t.weights().count();
  add_trace(l, trace);
  l.cores = t.backend().attention_cores();
  return l;
}

std::optional<model::Cache> cache_of(model::Transformer& t, Count tokens) {
  const Plan& plan = t.settings().plan;
  return plan.kv_cache ? std::optional(t.make_cache(plan.batch, tokens)) : std::nullopt;
}

void run_pass(model::Transformer& t, std::span<const std::int64_t> ids, Count past, model::Cache* cache,
              model::Trace* trace) {
  const Plan& plan = t.settings().plan;
  if (plan.mtp > 0)
    t.drafted(ids, plan.batch, past, *cache, trace);
  else
    t.logits(ids, plan.batch, past, cache, trace);
}

Ledger measured_inference(model::Transformer& t, std::uint64_t seed) {
  const Plan& plan = t.settings().plan;
  const Count context = add(plan.prompt, plan.generate);
  model::Arena& a = t.arena();
  std::vector<std::int64_t> ids = random_batch(t.arch(), mul(plan.batch, context), seed).ids;
  const auto part = [&](Count first, Count n) {  // tokens [first, first + n) of every sequence
    std::vector<std::int64_t> some;
    for (Count s = 0; s < plan.batch; ++s)
      some.insert(some.end(), ids.begin() + s * context + first, ids.begin() + s * context + first + n);
    return some;
  };
  Ledger l;
  a.reset_peak();
  std::optional<model::Cache> cache = cache_of(t, context);
  model::Cache* saved = cache ? &*cache : nullptr;
  model::Trace first, last;
  run_pass(t, part(0, plan.prompt), 0, saved, &first);
  Count queries = 1;  // number of tokens per pass; fewer in the first pass if it does not divide the token count
  for (Count i = plan.prompt; i < context; i += queries) {
    last.clear();
    if (saved != nullptr) {
      queries = (context - i - 1) % (plan.mtp + 1) + 1;
      run_pass(t, part(i, queries), i, saved, &last);
    } else {
      run_pass(t, part(0, i + 1), 0, nullptr, &last);
    }
  }
  const Count weights = bytes(a, Purpose::weights), held = bytes(a, Purpose::kv_cache);
  l.bytes = {{"weights", weights},
             {"kv_cache", held},
             {"workspace", a.peak().value - weights - held},
             {"peak", a.peak().value},
             {"parameters", t.weights().count()}};
  add_trace(l, first);
  Ledger decode;
  add_trace(decode, last);
  l.backward = decode.forward;
  for (const auto& [op, n] : decode.beside) l.beside[op] += n;
  l.order.insert(l.order.end(), decode.order.begin(), decode.order.end());
  l.cores = t.backend().attention_cores();
  return l;
}

}  // namespace llmcalc::validate
