#include "evidence/profile/table_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "calc/infer.hpp"
#include "evidence/logs/served_model.hpp"
#include "evidence/profile/operator_times.hpp"
#include "presets/estimators/attending_layers.hpp"
#include "text/error.hpp"

namespace llmcalc {

namespace {

double per(double all, double n) { return n > 0 ? all / n : 0; }

/// Mean sizes over chunks and over decoding sequences. The context in a table counts the cached tokens, but not the
/// new one.
AttentionWork mean_work(const PassWork& w, std::size_t reach) {
  const CoreWork &p = w.prompts[reach], &d = w.decodes[reach];
  AttentionWork a;
  a.chunks = p.queries > 0 ? static_cast<double>(w.chunks) : 0;
  a.chunk = per(static_cast<double>(p.queries), a.chunks);
  const double own = a.chunk * (a.chunk + 1) / 2;  // pairs within a chunk
  a.past = std::max(0.0, per(per(static_cast<double>(p.pairs), a.chunks) - own, a.chunk));
  a.decoding = static_cast<double>(d.queries);
  a.context = per(static_cast<double>(d.keys - d.queries), a.decoding);
  return a;
}

class TableCores : public MeasuredCores {
 public:
  TableCores(OperatorTimes times, const Arch& arch) : times_(std::move(times)) {
    const auto [whole, limited] = attending_layers(arch);
    layers_ = {whole, limited};
  }

  Ticks passes(const PassWork& work, const CoreGrowth& growth, Count n) const override {
    Seconds all;
    for (std::size_t i = 0; i < reach_kinds; ++i)
      if (layers_[i] > 0) all += static_cast<double>(layers_[i]) * layer(mean_work(work, i), growth[i], n);
    return ticks(all);
  }

 private:
  /// Seconds of a layer over `n` passes. Uses the mean context if contexts grow by less than one token per pass,
  /// which happens once some sequences have filled their window.
  Seconds layer(AttentionWork w, const CoreWork& growth, Count n) const {
    const bool alike = static_cast<double>(growth.keys) == w.decoding;
    if (n > 1 && w.chunks == 0 && alike) return times_.decoding(w.decoding, w.context, n);
    w.context += per(static_cast<double>(growth.keys), w.decoding) * static_cast<double>(n - 1) / 2;
    return static_cast<double>(n) * times_.attention(w);
  }

  OperatorTimes times_;
  std::array<Count, reach_kinds> layers_{};
};

/// Whether tables are for this device, or may be for it because they name no preset.
bool may_be_of(const OperatorTables& t, const HardwareCard& hardware, const Devices& devices) {
  const double gib = static_cast<double>(hardware.cluster.device.memory.value) / 0x1p30;
  for (const std::string& said : {t.origin.device, t.device_folder})
    if (const HardwareCard* card = said.empty() ? nullptr : devices.find(said, gib)) return card->name == hardware.name;
  return true;
}

/// Tables for the run's model.
std::vector<const OperatorTables*> tables_for(const RunCase& c, const std::vector<OperatorTables>& all) {
  std::vector<const OperatorTables*> own;
  for (const OperatorTables& t : all)
    for (const std::string& said : {t.origin.model, t.model_folder}) {
      const Builtin* preset = said.empty() ? nullptr : served_preset(said);
      if (preset == nullptr) continue;
      if (preset->name == c.head.model) own.push_back(&t);
      break;
    }
  if (own.empty())
    throw InputError(fmt::format("--tables: no tables for {} in '{}'; pass the folder that contains them", c.head.model,
                                 all[0].path));
  return own;
}

/// Seconds that a pass of `tokens` tokens spends on collectives, in all layers and in the head.
struct PassCollectives {
  Seconds layers, head;
};
PassCollectives collectives_of(const RunCase& c, const Cluster& cluster, Count tokens) {
  const Prices prices = price_decode(c.arch, with_batch(c.plan, tokens), c.layout, cluster.device, 1);
  PassCollectives all;
  for (const LayerPrice& row : prices.rows) {
    const CommunicationTime t =
        communication_time(row.forward.collectives, c.layout, cluster, cluster.device.achieved.links);
    (row.segment == SegmentKind::head ? all.head : all.layers) += static_cast<double>(row.layers) * t.total();
  }
  return all;
}

}  // namespace

std::vector<OperatorTables> tables_of_device(const HardwareCard& hardware, const std::vector<OperatorTables>& all,
                                             const Devices& devices) {
  std::vector<OperatorTables> own;
  for (const OperatorTables& t : all)
    if (may_be_of(t, hardware, devices)) own.push_back(t);
  return own;
}

PassTimes table_passes(const RunCase& c, const std::vector<OperatorTables>& tables, const InferenceParameters& p) {
  Cluster cluster = c.cluster();
  cluster.device.achieved = inference_rates(p, c.on.hardware, c.stack, c.plan);
  OperatorTimes times(tables_for(c, tables), c.arch, c.plan, c.layout);
  PassRowTimes::Knots rows, head;
  for (const Count n : times.measured_tokens())
    rows.emplace_back(
        n, ticks(times.rows(n) + collectives_of(c, cluster, n).layers + cluster.device.achieved.software.step));
  for (const Count n : times.measured_sequences())
    head.emplace_back(n, ticks(times.head(n) + collectives_of(c, cluster, n).head));
  PassTimes t;
  t.rows = PassRowTimes(rows);
  t.head = PassRowTimes(head);
  t.reach = c.arch.local.reach;
  t.sequence = ticks(cluster.device.achieved.software.sequence);
  t.measured = std::make_shared<TableCores>(std::move(times), c.arch);
  return t;
}

}  // namespace llmcalc
