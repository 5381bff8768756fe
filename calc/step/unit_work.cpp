#include "calc/step/unit_work.hpp"

#include <algorithm>

#include "calc/links/route.hpp"
#include "calc/pipeline/schedule.hpp"
#include "calc/training/offload.hpp"

namespace llmcalc {
namespace {

/// Seconds of a pass without collectives and transfers.
Seconds own_work(const Spent& s) { return s[Part::matmul] + s[Part::attention] + s[Part::elementwise] + s[Part::host]; }

/// Builds units from rows.
class UnitMaker {
 public:
  UnitMaker(const Prices& prices, const RowTimes& times, const Plan& plan, const Layout& layout, const Cluster& cluster,
            Efficiency e)
      : prices_(prices),
        times_(times),
        plan_(plan),
        layout_(layout),
        cluster_(cluster),
        rates_(rates_of(prices, e)),
        efficiency_(e),
        links_(layout, cluster, rates_.links),
        apart_(ranks(layout, Group::pipeline) > 1 && splits_backward(layout.schedule)) {}

  ChunkUnit outside(Count number, const LayerPrice& price, const RowTime& time) {
    ChunkUnit u = unit(number, {&price, 1}, {&time, 1}, false);
    u.outside = true;
    return u;
  }
  ChunkUnit layer(Count index, bool recomputes) {
    const std::size_t kind = kind_index(prices_.kinds, index);
    return unit(1 + index, {&prices_.layer(kind), 1}, {&times_.layer(kind, recomputes), 1}, recomputes);
  }
  ChunkUnit module(Count number) { return unit(number, prices_.mtp(), times_.mtp(), false); }

 private:
  ChunkUnit unit(Count number, std::span<const LayerPrice> prices, std::span<const RowTime> times, bool recomputes) {
    ChunkUnit u{.number = number};
    for (std::size_t i = 0; i < prices.size(); ++i) {
      add_row(prices[i], times[i], recomputes, u);
      u.gather += times[i].gather;
      u.reduce += times[i].reduce;
      u.down += times[i].down;
    }
    std::reverse(u.backward.begin(), u.backward.end());
    std::reverse(u.weights.begin(), u.weights.end());
    return u;
  }

  void add_row(const LayerPrice& row, const RowTime& t, bool recomputes, ChunkUnit& u) {
    const RowTravel bytes = plan_.offload.any() ? row_travel(row, plan_, layout_, recomputes) : RowTravel();
    const auto traveling = [&](Bytes b) { return b > Bytes() ? b / rates_.host.link : Seconds(); };
    const Bytes every = sends_every_gradient(layout_) ? bytes.gradients : Bytes();
    const Seconds down = traveling(every);
    Leg forward{.works = {{TaskKind::forward, own_work(t.forward)}}};
    add_collectives(row.forward, {}, forward);
    hide(t.forward, forward);
    u.forward.push_back({{forward}, traveling(bytes.weights), traveling(bytes.activations)});
    RowPass back = backward(row, t, recomputed(row, recomputes));
    back.up = traveling(bytes.backward_weights + bytes.activations);
    if (apart_)
      u.weights.push_back({{gradients_of_weights(row, t)}, {}, down});
    else
      back.down = down;
    u.backward.push_back(back);
  }

  Spent recomputed(const LayerPrice& row, bool recomputes) {
    const bool runs = recomputes || (plan_.recompute != Recompute::none && !recomputes_block(plan_));
    return runs ? recompute_time(row, prices_, plan_, layout_, links_, efficiency_) : Spent();
  }

  RowPass backward(const LayerPrice& row, const RowTime& t, const Spent& recomputed) {
    RowPass pass;
    if (recomputed.total() > Seconds()) {
      Leg leg{.works = {{TaskKind::recomputed_forward, own_work(recomputed)}}};
      add_collectives(row.recomputed, {}, leg);
      hide(recomputed, leg);
      pass.legs.push_back(leg);
    }
    Leg gradients{.works = {{TaskKind::backward_input, own_work(t.backward_input) - own_work(recomputed)}}};
    add_collectives(row.backward_input, apart_ ? Messages::not_for_weights : Messages::all, gradients);
    Spent exposed = t.backward_input;
    for (const Part p : {Part::tp, Part::cp, Part::ep}) exposed[p] = exposed[p] - recomputed[p];
    if (!apart_) {
      gradients.works.push_back({TaskKind::backward_weight, own_work(t.backward_weight)});
      exposed += t.backward_weight;
    }
    hide(exposed, gradients);
    pass.legs.push_back(gradients);
    return pass;
  }

  Leg gradients_of_weights(const LayerPrice& row, const RowTime& t) {
    Leg weights{.works = {{TaskKind::backward_weight, own_work(t.backward_weight)}}};
    add_collectives(row.backward_input, Messages::for_weights, weights);
    hide(t.backward_weight, weights);
    return weights;
  }

  /// Messages of a collective to count: all messages, only messages that input gradients need, or only messages that
  /// just weight gradients need.
  enum class Messages : std::uint8_t { all, not_for_weights, for_weights };
  void add_collectives(const PassPrice& pass, Messages which, Leg& leg) {
    for (const CollectiveCall& e : pass.collectives) {
      const double later = llmcalc::for_weights(e);
      const double share = which == Messages::all ? 1 : which == Messages::for_weights ? later : 1 - later;
      if (share <= 0) continue;
      const auto same = std::find_if(leg.collectives.begin(), leg.collectives.end(),
                                     [&](const GroupCollective& g) { return g.group == e.group; });
      const Seconds seconds = share * links_(e);
      if (same != leg.collectives.end())
        same->seconds += seconds;
      else
        leg.collectives.push_back({e.group, outermost_level(cluster_, layout_, e.group), seconds});
    }
  }

  /// Sets the hidden part of a leg's collectives, i.e. the part that is not exposed.
  static void hide(const Spent& exposed, Leg& leg) {
    leg.hidden_experts = Seconds() - exposed[Part::ep];
    leg.hidden = Seconds() - exposed[Part::tp] - exposed[Part::cp];
    for (const GroupCollective& e : leg.collectives)
      (e.group == Group::expert ? leg.hidden_experts : leg.hidden) += e.seconds;
  }

  const Prices& prices_;
  const RowTimes& times_;
  const Plan& plan_;
  const Layout& layout_;
  const Cluster& cluster_;
  const Rates& rates_;
  Efficiency efficiency_;
  Links links_;
  bool apart_;
};

}  // namespace

ChunkUnits chunk_units(const Prices& prices, const RowTimes& times, const Plan& plan, const Layout& layout,
                       const Cluster& cluster, const ModelChunk& chunk, Efficiency e) {
  UnitMaker maker(prices, times, plan, layout, cluster, e);
  const Count layers = whole_model(prices.kinds).layers();
  ChunkUnits c{.sending = layout.chunks > 1 ? times.send_of_chunks : times.send};
  if (chunk.embedding) c.units.push_back(maker.outside(0, prices.embedding(), times.embedding()));
  for (Count i = chunk.first; i < chunk.end; ++i)
    c.units.push_back(maker.layer(i, i < chunk.first + times.first_recomputed));
  if (!chunk.head) return c;
  c.units.push_back(maker.outside(1 + layers, prices.head(), times.head()));
  for (Count k = 0; k < times.modules; ++k) c.units.push_back(maker.module(2 + layers + k));
  return c;
}

}  // namespace llmcalc
