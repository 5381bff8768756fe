#include "evidence/profile/operator_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "calc/roofline.hpp"
#include "evidence/errors.hpp"
#include "text/error.hpp"
#include "text/leading_number.hpp"

namespace llmcalc {
namespace {

constexpr Count few_tokens = 16;
constexpr double no_bytes = 0.05;  ///< maximum share of memory traffic in the time of rows from which the
                                   ///< launch overhead is derived
constexpr double large = 20;  ///< ratio of compute time at peak to launch overhead from which a kernel counts as large
constexpr double enough = 2;  ///< ratio of time to launch overhead from which a row determines a bandwidth
constexpr double compute_bound = 2;        ///< ratio of compute to memory time above which FLOPs dominate a matmul
constexpr double least_compute = 1.0 / 3;  ///< ratio of compute to memory time above which both matter
constexpr int most_rounds = 200;

/// Seconds of a row's operators, excluding launch overhead.
struct KernelSeconds {
  double compute = 0, memory = 0;
};

/// Median of the tables' medians, and the lowest and highest of these medians.
struct Pooled {
  double value = 0, low = 0, high = 0;
  std::size_t rows = 0, tables = 0;
};

/// Derives a device's rates from timed rows.
class Derivation {
 public:
  Derivation(const std::vector<TimedRow>& rows, const std::vector<TableSubject>& subjects, const Device& device,
             bool recorded)
      : rows_(rows), subjects_(subjects), device_(device), recorded_(recorded) {
    device_.achieved = {};
    device_.achieved.present = true;
  }

  OperatorRates all() {
    find_launch();
    find_cache();
    find_attention();
    find_products();
    tell_of_reads();
    found_.achieved = device_.achieved;
    add_residuals();
    return std::move(found_);
  }

 private:
  using Measure = std::function<std::optional<double>(const TimedRow&)>;

  /// Pools a measure over all rows that provide it. Empty if no table has enough such rows.
  std::optional<Pooled> pooled(const Measure& measure) const {
    std::map<std::size_t, std::vector<double>> by_table;
    for (const TimedRow& row : rows_)
      if (const auto x = measure(row)) by_table[row.table].push_back(*x);
    std::vector<double> medians;
    Pooled p;
    for (const auto& [table, values] : by_table) {
      if (values.size() < fewest_rows) continue;
      medians.push_back(quantile(values, 0.5));
      p.rows += values.size();
    }
    if (medians.empty()) return std::nullopt;
    const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
    p.value = quantile(medians, 0.5);
    p.low = *low;
    p.high = *high;
    p.tables = medians.size();
    return p;
  }

  void add(DerivedNumber::Kind kind, std::string key, std::string title, const std::optional<Pooled>& p,
           bool in_file = true) {
    if (!p) {
      if (in_file)
        found_.notes.push_back(
            fmt::format("{}: omitted, since no table has {} rows to derive it from", title, fewest_rows));
      return;
    }
    found_.numbers.push_back(
        {kind, std::move(key), std::move(title), p->value, p->low, p->high, p->rows, p->tables, in_file});
  }

  // ---- Rows

  double launch() const { return device_.achieved.launch.value; }
  double work_time(const TimedRow& row) const { return row.measured.value - launch(); }
  const Plan& plan(const TimedRow& row) const { return subjects_[row.table].plan; }

  /// Matmul format of a row's operators.
  DType format(const TimedRow& row) const {
    const Plan& p = plan(row);
    return row.ops[0].op.narrow && row.work == TableWork::product ? p.precision : working_format(p);
  }
  static std::size_t index(DType t) { return static_cast<std::size_t>(t.format().peak); }
  static double flops(const TimedRow& row) {
    double all = 0;
    for (const TimedOp& o : row.ops) all += static_cast<double>(o.cost.executed.value);
    return all;
  }
  static double bytes(const TimedRow& row) {
    double all = 0;
    for (const TimedOp& o : row.ops) all += o.cost.moved.total();
    return all;
  }
  /// Seconds of a row's FLOPs at the datasheet peak.
  double at_peak(const TimedRow& row) const { return flops(row) / device_.peak(format(row)).value; }
  double at_bandwidth(const TimedRow& row) const { return bytes(row) / device_.bandwidth.value; }
  double compute_share(const TimedRow& row) const { return at_peak(row) / at_bandwidth(row); }
  bool is_large(const TimedRow& row) const { return at_peak(row) >= large * launch(); }

  /// Seconds of a row at the rates derived so far.
  KernelSeconds seconds(const TimedRow& row) const {
    const Rates rates = estimated_rates(device_, plan(row));
    KernelSeconds t;
    for (const TimedOp& o : row.ops) {
      const OpRates own = reached(o.op, o.cost, pricing(plan(row), o.phase), Direction::forward, rates);
      t.compute += static_cast<double>(o.cost.executed.value) / own.compute.value;
      t.memory += o.cost.moved.total() / own.memory.value;
    }
    return t;
  }

  /// Whether one layer's bytes are enough to fill the cache. Always true for a device without a stated cache.
  bool from_memory(double some_bytes) const {
    return device_.cache == Bytes() || some_bytes >= static_cast<double>(device_.cache.value);
  }

  // ---- Derived values

  void find_launch() {
    const auto p = pooled([&](const TimedRow& row) -> std::optional<double> {
      if (row.work != TableWork::elementwise || at_bandwidth(row) > no_bytes * row.measured.value) return std::nullopt;
      return row.measured.value;
    });
    add(DerivedNumber::Kind::seconds, recorded_ ? "recorded" : "launch", "operator overhead", p);
    if (!p)
      throw InputError(
          fmt::format("among {} rows, no table has {} of norms, activations or rotary embedding with few enough tokens "
                      "to show the minimum time of a kernel, which every other rate requires",
                      rows_.size(), fewest_rows));
    device_.achieved.launch = Seconds(p->value);
    if (recorded_) device_.achieved.recorded = Seconds(p->value);
  }

  /// Bandwidth of an element-wise row, from the cache or from memory. Empty if the row is too short.
  std::optional<double> elementwise(const TimedRow& row, bool in_cache) const {
    if (row.work != TableWork::elementwise || row.measured.value < enough * launch()) return std::nullopt;
    const auto fits = [&](const TimedOp& o) { return !from_memory(o.cost.moved.activations); };
    if (in_cache != std::all_of(row.ops.begin(), row.ops.end(), fits) || work_time(row) <= 0) return std::nullopt;
    return bytes(row) / work_time(row);
  }

  void find_cache() {
    if (device_.cache == Bytes()) return;
    const auto p = pooled([&](const TimedRow& row) { return elementwise(row, true); });
    add(DerivedNumber::Kind::bytes_per_second, "cache", "cache bandwidth", p);
    if (p) device_.achieved.cache = BytesPerSecond(p->value);
  }

  /// Distinct formats in the rows of one kind.
  std::vector<DType> formats(TableWork work) const {
    std::vector<DType> all;
    for (const TimedRow& row : rows_)
      if (row.work == work && std::find(all.begin(), all.end(), format(row)) == all.end()) all.push_back(format(row));
    return all;
  }

  void find_attention() {
    for (const DType t : formats(TableWork::prompt)) {
      const auto p = pooled([&](const TimedRow& row) -> std::optional<double> {
        if (row.work != TableWork::prompt || format(row) != t || !is_large(row) || work_time(row) <= 0)
          return std::nullopt;
        return std::min(flops(row) / work_time(row), device_.peak(t).value);
      });
      add(DerivedNumber::Kind::flops_per_second, fmt::format("attention.{}", t.name()),
          fmt::format("attention, {}", t.name()), p);
      if (p) device_.achieved.flash[index(t)].forward = FlopsPerSecond(p->value);
    }
  }

  std::optional<Pooled> memory() const {
    return pooled([&](const TimedRow& row) -> std::optional<double> {
      if (row.work != TableWork::product || row.tokens > few_tokens || work_time(row) <= 0) return std::nullopt;
      double weights = 0;
      for (const TimedOp& o : row.ops) weights += o.cost.moved.weights;
      if (!from_memory(weights)) return std::nullopt;
      const KernelSeconds t = seconds(row);
      const double exposed = device_.achieved.exposed[index(format(row))] * t.compute;
      return work_time(row) > exposed ? std::optional(at_bandwidth(row) / (work_time(row) - exposed)) : std::nullopt;
    });
  }
  std::optional<Pooled> matmul(DType format_of_products) const {
    return pooled([&](const TimedRow& row) -> std::optional<double> {
      if (row.work != TableWork::product || format(row) != format_of_products || !is_large(row) ||
          compute_share(row) < compute_bound)
        return std::nullopt;
      const double exposed = device_.achieved.exposed[index(format_of_products)] * seconds(row).memory;
      return work_time(row) > exposed ? std::optional(at_peak(row) / (work_time(row) - exposed)) : std::nullopt;
    });
  }
  std::optional<Pooled> exposed(DType format_of_products) const {
    return pooled([&](const TimedRow& row) -> std::optional<double> {
      const double share = compute_share(row);
      if (row.work != TableWork::product || format(row) != format_of_products || share < least_compute ||
          share >= compute_bound)
        return std::nullopt;
      const KernelSeconds t = seconds(row);
      return (work_time(row) - std::max(t.compute, t.memory)) / std::min(t.compute, t.memory);
    });
  }

  /// Sets a rate to the pooled value, clamped to its range. Returns whether it changed.
  static bool set(double& number, const std::optional<Pooled>& p, double least) {
    if (!p) return false;
    const double before = number;
    number = std::clamp(p->value, least, 1.0);
    return std::fabs(number - before) > 1e-9;
  }

  void find_products() {
    const std::vector<DType> all = formats(TableWork::product);
    Achieved& a = device_.achieved;
    bool changes = true;
    for (int round = 0; changes && round < most_rounds; ++round) {
      changes = set(a.memory, memory(), 1e-3);
      for (const DType t : all) {
        changes = set(a.matmul[index(t)], matmul(t), 1e-3) || changes;
        changes = set(a.exposed[index(t)], exposed(t), 0) || changes;
      }
    }
    add_share("memory", "memory", memory());
    for (const DType t : all) {
      add_share(fmt::format("matmul.{}", t.name()), fmt::format("matmul, {}", t.name()), matmul(t));
      add_share(fmt::format("exposed.{}", t.name()), fmt::format("exposed, {}", t.name()), exposed(t), 0);
    }
  }

  /// Adds a fraction to the file, clamped to its range.
  void add_share(std::string key, std::string title, std::optional<Pooled> p, double least = 1e-3) {
    const double cut = p ? std::clamp(p->value, least, 1.0) : 0;
    if (p && cut != p->value)
      found_.notes.push_back(
          fmt::format("{}: {:.3g} is out of range and was clamped to {:.3g}; the datasheet or the model differs from "
                      "the measured one",
                      title, p->value, cut));
    if (p) p->value = cut;
    add(DerivedNumber::Kind::share, std::move(key), std::move(title), p);
  }

  /// Adds bandwidth fractions that are reported, but for which hardware files have no key.
  void tell_of_reads() {
    const double bandwidth = device_.bandwidth.value;
    add(DerivedNumber::Kind::share, "cache_reads", "KV cache reads",
        pooled([&](const TimedRow& row) -> std::optional<double> {
          if (row.work != TableWork::decoding || !from_memory(row.ops[0].cost.moved.cache) || work_time(row) <= 0 ||
              row.measured.value < enough * launch())
            return std::nullopt;
          return at_bandwidth(row) / work_time(row);
        }),
        false);
    add(DerivedNumber::Kind::share, "elementwise", "large tensors",
        pooled([&](const TimedRow& row) -> std::optional<double> {
          const auto rate = elementwise(row, false);
          return rate ? std::optional(*rate / bandwidth) : std::nullopt;
        }),
        false);
  }

  // ---- Residuals

  /// Predicted time of a row, in seconds. The launch overhead counts once for a call with both prefill and decode.
  double predicted(const TimedRow& row) const {
    const Rates rates = estimated_rates(device_, plan(row));
    double all = row.work == TableWork::both ? -launch() : 0;
    for (const TimedOp& o : row.ops)
      all += operator_time(o.op, pricing(plan(row), o.phase), Direction::forward, rates).total().value;
    return all;
  }

  static LayerResidual residual(std::size_t table, const std::string& layer,
                                const std::vector<std::pair<Count, double>>& ratios) {
    LayerResidual r{table, layer, ratios.size(), 1, {}};
    std::array<std::vector<double>, LayerResidual::up_to.size() + 1> by_size;
    std::vector<double> all;
    for (const auto& [tokens, ratio] : ratios) {
      all.push_back(ratio);
      const auto* size = std::find_if(r.up_to.begin(), r.up_to.end(), [t = tokens](Count most) { return t <= most; });
      by_size[static_cast<std::size_t>(size - r.up_to.begin())].push_back(ratio);
    }
    r.median = quantile(all, 0.5);
    for (std::size_t i = 0; i < by_size.size(); ++i)
      if (!by_size[i].empty()) r.by_size[i] = quantile(by_size[i], 0.5);
    return r;
  }

  void add_residuals() {
    std::vector<std::pair<std::size_t, std::string>> order;
    std::map<std::pair<std::size_t, std::string>, std::vector<std::pair<Count, double>>> ratios;
    for (const TimedRow& row : rows_) {
      auto& of_layer = ratios[{row.table, row.layer}];
      if (of_layer.empty()) order.emplace_back(row.table, row.layer);
      of_layer.emplace_back(row.tokens, predicted(row) / row.measured.value);
    }
    for (const auto& key : order) found_.residuals.push_back(residual(key.first, key.second, ratios[key]));
  }

  const std::vector<TimedRow>& rows_;
  const std::vector<TableSubject>& subjects_;
  Device device_;
  bool recorded_;
  OperatorRates found_;
};

double four_digits(double x) { return leading_real(fmt::format("{:.4g}", x)); }

/// A value as written to a hardware file.
json::Value file_value(const DerivedNumber& n) {
  switch (n.kind) {
    case DerivedNumber::Kind::share:
      return four_digits(n.value);
    case DerivedNumber::Kind::seconds:
      return fmt::format("{:.4g} us", n.value * 1e6);
    case DerivedNumber::Kind::bytes_per_second:
      return fmt::format("{:.4g} GB/s", n.value / 1e9);
    case DerivedNumber::Kind::flops_per_second:
      return fmt::format("{:.4g} GFLOP/s", n.value / 1e9);
  }
  return {};
}

}  // namespace

OperatorRates operator_rates(const std::vector<TimedRow>& rows, const std::vector<TableSubject>& subjects,
                             const Device& device, bool recorded) {
  return Derivation(rows, subjects, device, recorded).all();
}

json::Value achieved_json(const OperatorRates& rates, const std::string& how) {
  json::Value achieved = json::Value::object();
  for (const DerivedNumber& n : rates.numbers) {
    if (!n.in_file) continue;
    const std::size_t dot = n.key.find('.');
    json::Value& at = achieved[n.key.substr(0, dot)];
    (dot == std::string::npos ? at : at[n.key.substr(dot + 1)]) = file_value(n);
    if (n.key == "recorded") achieved["launch"] = file_value(n);
  }
  achieved["engine"] = engine_of_tables;
  achieved["how"] = how;
  return achieved;
}

}  // namespace llmcalc
