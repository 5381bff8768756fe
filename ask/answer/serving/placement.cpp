#include "ask/answer/serving/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ask/request/machine.hpp"
#include "ask/request/server.hpp"
#include "calc/search.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "serve/times/stages.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

constexpr Count levels = 64;  ///< number of steps into which a device's share of memory is divided

std::vector<ModelChunk> chunks_of(const StageLayers& layers) {
  std::vector<ModelChunk> all;
  Count first = 0;
  for (const Count n : layers) {
    all.push_back({first, first + n, first == 0, all.size() + 1 == layers.size()});
    first += n;
  }
  return all;
}

double filled_share(const EngineStage& s) {
  return real(s.capacity.memory().peak.value) / real(s.capacity.granted().value);
}

/// Number of parts of a prompt that different stages process concurrently. With llama.cpp, each pass of the prompt is
/// such a part. Other engines run one pass after another, so this is 1.
Count overlapping_parts(const Request& r) {
  if (!r.engine->gguf_weights) return 1;
  return std::max<Count>(1, ceil_div(mul(r.plan.batch, r.plan.prompt), serving_limits(r).pass_tokens));
}

}  // namespace

Placement::Placement(const Request& r)
    : hardware_(r.hardware->word),
      all_layers_(r.model.arch.layers),
      stated_(r.layout.stage_layers),
      splits_by_memory_(r.engine->gguf_weights) {
  for (Count i = 0; i < ranks(r.layout, Group::pipeline); ++i) devices_.push_back(on_device_of_stage(r, i));
  const std::vector<ModelChunk> chunks = chunks_of(placed());
  for (Count i = 0; i < size(); ++i) {
    const ModelChunk& chunk = chunks[static_cast<std::size_t>(i)];
    stages_.push_back({on(i, chunk, levels), capacity(i, chunk, levels)});
  }
  if (has_unlike_devices(r) && !moves_layers() && stated_.empty() && !fits()) refuse_uneven();
}

bool Placement::moves_layers() const { return splits_by_memory_ && stated_.empty(); }

Request Placement::on(Count stage, const ModelChunk& chunk, Count level) const {
  Request one = devices_[static_cast<std::size_t>(stage)];
  one.stage = chunk;
  if (level < levels) one.plan.memory_utilization *= real(level) / real(levels);
  return one;
}

const EngineCapacity& Placement::capacity(Count stage, const ModelChunk& chunk, Count level) const {
  const Key key{level, stage, chunk.first, chunk.end};
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : known_.emplace(key, on(stage, chunk, level)).first->second;
}

/// Largest number of layers, starting at `first`, that fit on the device and leave at least one layer for each later
/// device. For the last device, all remaining layers, or 0 if they do not fit.
template <typename Accepts>
Count Placement::most_layers(Count stage, Count first, Count level, const Accepts& accepts) const {
  const Count rest = all_layers_ - first - (size() - 1 - stage);
  const auto holds = [&](Count n) {
    return accepts(stage, capacity(stage, {first, first + n, first == 0, stage + 1 == size()}, level));
  };
  if (stage + 1 == size()) return holds(rest) ? rest : 0;
  return llmcalc::first(rest, [&](Count n) { return !holds(n); }).value_or(rest + 1) - 1;
}

/// Fills each device in turn with as many layers as `accepts` allows. Empty if layers remain.
template <typename Accepts>
StageLayers Placement::filled(Count level, const Accepts& accepts) const {
  StageLayers all;
  Count first = 0;
  for (Count i = 0; i < size(); ++i) {
    const Count n = most_layers(i, first, level, accepts);
    if (n == 0) return {};
    all.push(n);
    first += n;
  }
  return all;
}

StageLayers Placement::by_free_memory() const {
  double all = 0, below = 0;
  const auto free = [&](Count i) {
    return real(visible_memory(*devices_[static_cast<std::size_t>(i)].hardware).value);
  };
  for (Count i = 0; i < size(); ++i) all += free(i);
  StageLayers layers;
  Count first = 0;
  for (Count i = 0; i + 1 < size(); ++i) {
    below += free(i);
    Count end = first + 1;
    while (end < all_layers_ - (size() - 1 - i) && real(end) / real(all_layers_ + 1) < below / all) ++end;
    layers.push(end - first);
    first = end;
  }
  layers.push(all_layers_ - first);
  return layers;
}

StageLayers Placement::evenly() const {
  StageLayers layers;
  for (Count i = 0; i < size(); ++i) layers.push(served_stage(all_layers_, size(), i).layers());
  return layers;
}

bool Placement::hold(const StageLayers& layers) const {
  const std::vector<ModelChunk> chunks = chunks_of(layers);
  for (Count i = 0; i < size(); ++i)
    if (!capacity(i, chunks[static_cast<std::size_t>(i)], levels).holds_batch()) return false;
  return true;
}

StageLayers Placement::leveled() const {
  const auto at = [&](Count level) {
    return filled(level, [](Count, const EngineCapacity& c) { return c.holds_batch(); });
  };
  const std::optional<Count> least = first(levels, [&](Count level) { return !at(level).empty(); });
  return least ? at(*least) : StageLayers();
}

StageLayers Placement::placed() const {
  if (!stated_.empty()) return stated_;
  if (!splits_by_memory_) return evenly();
  const StageLayers usual = by_free_memory();
  if (hold(usual)) return usual;
  const StageLayers moved = leveled();
  return moved.empty() ? usual : moved;
}

/// Time of a layer in a decode step on the device of a stage.
Seconds Placement::seconds_per_layer(Count stage) const {
  const EngineStage& s = stages_[static_cast<std::size_t>(stage)];
  const Request& r = s.request;
  const PassStages one({{{s.request.stage->first, s.request.stage->end, false, false}, r.hardware->cluster}});
  const Count context = r.plan.prompt + r.plan.generate / 2;
  const Seconds all = decode(r.model.arch, r.plan, r.layout, one, context).estimate.total();
  return (1 / real(s.request.stage->layers())) * all;
}

std::vector<Count> Placement::by_speed() const {
  std::vector<Count> order(devices_.size());
  std::iota(order.begin(), order.end(), Count{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Count a, Count b) { return seconds_per_layer(a) < seconds_per_layer(b); });
  return order;
}

/// Moves as many layers from one device to the other as the memory of both allows; every device keeps at least
/// one.
StageLayers Placement::moved(const StageLayers& layers, Count from, Count to) const {
  const auto then = [&](Count n) {
    StageLayers all = layers;
    all[static_cast<std::size_t>(to)] += n;
    all[static_cast<std::size_t>(from)] -= n;
    return all;
  };
  const Count most = layers[static_cast<std::size_t>(from)] - 1;
  if (most == 0) return layers;
  return then(first(most, [&](Count n) { return !hold(then(n)); }).value_or(most + 1) - 1);
}

StageLayers Placement::fastest_first() const {
  if (!moves_layers() || !fits()) return {};
  const std::vector<Count> order = by_speed();
  StageLayers now = layers();
  for (std::size_t fast = 0; fast < order.size(); ++fast)
    for (std::size_t slow = order.size(); slow-- > fast + 1;)
      if (seconds_per_layer(order[fast]) < seconds_per_layer(order[slow])) now = moved(now, order[slow], order[fast]);
  return now == layers() ? StageLayers() : now;
}

void Placement::refuse_uneven() const {
  const EngineStage& s = fullest();
  throw InputError(fmt::format(
      "--hardware {}: {} splits layers evenly, and {} does not hold its {} of {}; use --software llama.cpp, which "
      "splits by memory, or --stage-layers",
      hardware_, s.request.engine->name, s.request.hardware->name, s.request.stage->layers(), all_layers_));
}

StageLayers Placement::layers() const {
  StageLayers all;
  for (const EngineStage& s : stages_) all.push(s.request.stage->layers());
  return all;
}

const EngineStage& Placement::fullest() const {
  return *std::max_element(stages_.begin(), stages_.end(), [](const EngineStage& a, const EngineStage& b) {
    return filled_share(a) < filled_share(b);
  });
}

Bytes Placement::peak() const {
  Bytes all;
  for (const EngineStage& s : stages_) all += s.capacity.memory().peak;
  return all;
}

bool Placement::fits() const {
  return std::all_of(stages_.begin(), stages_.end(), [](const EngineStage& s) { return s.capacity.holds_batch(); });
}

namespace {

/// The smaller limit; an absent limit means unlimited.
std::optional<Count> tighter(std::optional<Count> a, std::optional<Count> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

Limits Placement::limits() const {
  Limits l = stages_[0].capacity.limits(stages_[0].request);
  for (std::size_t i = 1; i < stages_.size(); ++i) {
    const Limits one = stages_[i].capacity.limits(stages_[i].request);
    l = {tighter(l.max_batch, one.max_batch), tighter(l.max_context, one.max_context)};
  }
  if (!moves_layers()) return l;
  const auto largest = [&](std::optional<Count> least, auto limit_of) {
    if (!least) return least;
    const auto fails = [&](Count n) {
      return filled(levels,
                    [&](Count i, const EngineCapacity& c) {
                      return limit_of(c, devices_[static_cast<std::size_t>(i)]) >= n;
                    })
          .empty();
    };
    return std::optional(first(longest_searched, fails, *least + 1).value_or(longest_searched + 1) - 1);
  };
  return {largest(l.max_batch, [](const EngineCapacity& c, const Request& r) { return c.most(r); }),
          largest(l.max_context, [](const EngineCapacity& c, const Request& r) { return c.longest(r); })};
}

PassStages Placement::pass_stages() const {
  PassStages s({});
  for (const EngineStage& one : stages_) {
    s.all.push_back({*one.request.stage, one.request.hardware->cluster});
    Software& later = s.all.back().cluster.device.achieved.software;
    if (s.all.size() > 1) later.step = later.sequence = Seconds();  // counted once per pass, at the first stage
  }
  s.prompt_parts = overlapping_parts(stages_[0].request);
  return s;
}

}  // namespace llmcalc
