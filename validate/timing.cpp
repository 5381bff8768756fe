#include "validate/timing.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "calc/block/program.hpp"
#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "validate/case_model.hpp"
#include "validate/measure.hpp"

namespace llmcalc::validate {
namespace {

using Wall = std::chrono::steady_clock;
using Key = std::pair<std::string, std::string>;  ///< (kind of time, operator)

template <typename F>
double seconds_of(const F& f) {
  const auto start = Wall::now();
  f();
  return std::chrono::duration<double>(Wall::now() - start).count();
}

/// Number of warm-up runs, in which matmuls are compiled for the experts' row counts and caches fill.
constexpr int warming = 3;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

const char* pass_name(model::Direction d) {
  return d == model::Direction::forward ? "forward" : d == model::Direction::backward ? "backward" : "recompute";
}

/// Seconds of each operator in every run, summed over the layers.
class Samples {
 public:
  void add(const model::Trace& trace, const std::string& what = "") {
    std::map<Key, double> once;
    for (const model::Ran& r : trace)
      once[{what.empty() ? pass_name(r.direction) : what, std::string(r.name)}] += r.time.value;
    for (const auto& [key, s] : once) all_[key].push_back(s);
  }
  void add(const std::string& what, double seconds) { all_[{what, ""}].push_back(seconds); }
  double of(const Key& key) const { return all_.contains(key) ? median(all_.at(key)) : 0; }

 private:
  std::map<Key, std::vector<double>> all_;
};

/// Adds each operator's predicted seconds for one pass, or for all micro-batches of a step.
void predict(std::map<Key, double>& to, const Case& c, const Device& device, const Step& step, Phase phase,
             const std::string& forward_word) {
  const Rates rates = estimated_rates(device, c.plan);
  const Pricing p = pricing(c.plan, phase);
  const Count repeats = phase == Phase::training ? micro_batches(c.plan, {}) : 1;
  for_each_operator(c.arch, c.plan, {}, step, [&](const OperatorRow& row) {
    const auto add = [&](const std::string& what, const Time& t) {
      to[{what, std::string(row.op.name)}] += static_cast<double>(mul(repeats, row.segment.repeats)) * t.total().value;
    };
    const Time ahead = operator_time(row.op, p, llmcalc::Direction::forward, rates);
    add(forward_word, ahead);
    if (phase != Phase::training) return;
    add("backward", backward_time(row.op, p, rates));
    if (row.recomputed) add("recompute", ahead);
  });
}

/// The device with its attention rates set to those of the cores that ran.
Device as_ran(Device d, const model::AttentionCores& ran) {
  const auto without_tensor_cores = [&](bool is_backward) {
    const std::optional<model::CoreRun>& core = ran.of(is_backward);
    return core && core->core == model::AttentionCore::plain && core->obstacle;
  };
  for (std::size_t i = 0; i < peak_count; ++i) {
    const CoreRates& plain = d.achieved.plain[i];
    CoreRates& flash = d.achieved.flash[i];
    if (plain.forward.value > 0 && without_tensor_cores(false)) flash.forward = plain.forward;
    if (plain.backward.value > 0 && without_tensor_cores(true)) flash.backward = plain.backward;
  }
  return d;
}

std::vector<Timing> joined(const std::string& part, const std::map<Key, double>& predicted, const Samples& samples) {
  std::vector<Timing> rows;
  for (const auto& [key, seconds] : predicted)
    if (samples.of(key) > 0) rows.push_back({part, key.first, key.second, seconds, samples.of(key)});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Timing& a, const Timing& b) { return a.op.empty() > b.op.empty(); });
  return rows;
}

}  // namespace

std::vector<Timing> timed_training(const Case& asked, const Device& device, int repeats, const Where& where) {
  const Case c = as_trained(asked);
  CaseModel m(c, number_of(c.plan.precision), where, false);
  const std::unique_ptr<model::Backend>& backend = m.backend;
  model::Transformer& t = m.t;
  t.weights().make_trainable(c.plan);
  const std::vector<model::Batch> batches = random_step(c.arch, c.plan, 1);
  Samples samples;
  // Gradients are not clipped, because the prediction has no pass over all gradients before the update. Operators are
  // timed in separate steps, because timing waits for each operator to finish.
  const auto step = [&](model::Trace* trace) {
    t.train(batches, {.clip = 0}, trace);
    backend->wait();
  };
  // A backend may record the second step and replay it for the later steps; a traced step uses separate memory.
  for (int i = -warming; i < repeats; ++i) {
    const double seconds = seconds_of([&] { step(nullptr); });
    if (i >= 0) samples.add("step", seconds);
  }
  for (int i = -1; i < repeats; ++i) {
    model::Trace trace;
    step(&trace);
    if (i >= 0) samples.add(trace);
  }
  const Device ran = as_ran(device, backend->attention_cores());
  std::map<Key, double> predicted{{{"step", ""}, train(c.arch, c.plan, {}, cluster(ran, {})).estimate.total().value}};
  predict(predicted, c, ran, training_step(c.plan), Phase::training, "forward");
  return joined("training", predicted, samples);
}

std::vector<Timing> timed_inference(const Case& c, const Device& device, int repeats, const Where& where) {
  const Plan& p = c.plan;
  CaseModel m(c, number_of(p.precision), where, true);
  const std::unique_ptr<model::Backend>& backend = m.backend;
  model::Transformer& t = m.t;
  const std::vector<std::int64_t> ids = random_batch(c.arch, p.batch * p.prompt, 1).ids;
  const Count again = p.kv_cache ? 0 : p.prompt;  // without a cache, every token reprocesses the whole text
  const Count new_tokens = 1 + p.mtp;             // per decode step: drafts are verified together with the token
  const std::vector<std::int64_t> next = random_batch(c.arch, p.batch * (again + new_tokens), 2).ids;
  Samples samples;
  model::AttentionCores of_prompt;
  for (int i = -warming; i < repeats; ++i) {
    std::optional<model::Cache> cache = cache_of(t, p.prompt + new_tokens);
    const auto pass = [&](std::span<const std::int64_t> tokens, Count past, model::Trace* trace) {
      run_pass(t, tokens, past, cache ? &*cache : nullptr, trace);
    };
    const double prefill_seconds = seconds_of([&] { pass(ids, 0, nullptr); });
    const auto token = [&] { pass(next, p.prompt - again, nullptr); };
    double decode_seconds = seconds_of(token);
    if (cache && cache->decoding != nullptr && !cache->decoding->step.how().empty()) {
      token();
      decode_seconds = seconds_of(token);  // the third call is a replay
    }
    model::Trace first, step;
    pass(ids, 0, &first);
    of_prompt = backend->attention_cores();
    pass(next, p.prompt - again, &step);
    if (i < 0) continue;
    samples.add("prefill", prefill_seconds);
    samples.add("decode", decode_seconds);
    samples.add(first, "prefill");
    samples.add(step, "decode");
  }
  const Device of_prefill = as_ran(device, of_prompt);
  const Device of_decode = p.kv_cache ? device : of_prefill;  // a single query uses a separate kernel
  const auto step_time = [&](const Cluster& on) {
    return p.mtp > 0 ? drafted(c.arch, p, {}, on, p.prompt + 1) : decode(c.arch, p, {}, on, p.prompt + 1);
  };
  std::map<Key, double> predicted{
      {{"prefill", ""}, prefill(c.arch, p, {}, cluster(of_prefill, {}), p.prompt).estimate.total().value},
      {{"decode", ""}, step_time(cluster(of_decode, {})).estimate.total().value}};
  predict(predicted, c, of_prefill, prefill_step(p, p.prompt), Phase::prefill, "prefill");
  if (p.kv_cache)
    predict(predicted, c, of_decode, p.mtp > 0 ? drafting_step(p, p.prompt + 1) : decode_step(p, p.prompt + 1),
            Phase::decode, "decode");
  else
    predict(predicted, c, of_decode, prefill_step(p, p.prompt + 1), Phase::prefill, "decode");
  return joined("inference", predicted, samples);
}

}  // namespace llmcalc::validate
