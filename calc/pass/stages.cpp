#include "calc/pass/stages.hpp"

#include <algorithm>

#include "calc/step/row_time.hpp"

namespace llmcalc {
namespace {

/// The stage with the longest time.
template <typename Pass, typename TimeOf>
const Pass& slowest(const std::vector<Pass>& stages, const TimeOf& time) {
  return *std::max_element(stages.begin(), stages.end(),
                           [&](const Pass& a, const Pass& b) { return time(a) < time(b); });
}

Time overlapped(const std::vector<PassEstimate>& stages, Time PassTime::*time, Count parts) {
  Time sum;
  for (const PassEstimate& one : stages) sum += one.*time;
  if (parts == 1) return sum;
  const auto m = static_cast<double>(parts);
  sum += (m - 1) * (slowest(stages, [&](const PassEstimate& p) { return (p.*time).total(); }).*time);
  return (1 / m) * sum;
}

Seconds received(const Prices& prices, const PassStages& s, std::size_t i, const Layout& layout, Efficiency e) {
  return std::max(send_seconds(prices, layout, s.all[i - 1].cluster, e),
                  send_seconds(prices, layout, s.all[i].cluster, e));
}

}  // namespace

PassStages one_stage(const Arch& arch, const Cluster& cluster) {
  return PassStages({{whole_model(layer_kinds(arch)), cluster}});
}

PassEstimate in_sequence(const std::vector<PassEstimate>& stages, Count parts) {
  PassEstimate all = stages.front();
  for (std::size_t i = 1; i < stages.size(); ++i) all.rank += stages[i].rank;
  all.bound = overlapped(stages, &PassTime::bound, parts);
  all.estimate = overlapped(stages, &PassTime::estimate, parts);
  return all;
}

PassSpent in_sequence(const std::vector<PassSpent>& stages, Count parts) {
  const auto m = static_cast<double>(parts);
  PassSpent all = slowest(stages, [](const PassSpent& p) { return p.total(); });
  all.parts = ((m - 1) / m) * all.parts;
  all.engine = ((m - 1) / m) * all.engine;
  for (const PassSpent& one : stages) {
    all.parts += (1 / m) * one.parts;
    all.engine += (1 / m) * one.engine;
  }
  return all;
}

void add_send(PassEstimate& pass, const Prices& prices, const PassStages& stages, std::size_t i, const Layout& layout) {
  if (i == 0) return;
  const Efficiency e = prices.estimated ? Efficiency::estimated : Efficiency::full;
  pass.bound.communication += received(prices, stages, i, layout, Efficiency::full);
  pass.estimate.communication += received(prices, stages, i, layout, e);
}

}  // namespace llmcalc
