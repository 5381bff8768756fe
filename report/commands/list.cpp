#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "ask/answer/serving/settle.hpp"
#include "calc/formats/dtype.hpp"
#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "calc/roofline.hpp"
#include "presets/builtin.hpp"
#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "report/commands/arguments.hpp"
#include "report/commands/shares.hpp"
#include "report/model/model_sections.hpp"
#include "report/report.hpp"
#include "report/software_grids.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

json::Value head_json(const Builtin& b) {
  return {
      {"name", b.name}, {"title", b.title}, {"aliases", std::vector<std::string>(b.aliases.begin(), b.aliases.end())}};
}

Grid models_grid(Runner& runner) {
  Grid g{
      .key = "models", .title = "", .columns = {"name", "parameters", "active", "context", "KV per token"}, .rows = {}};
  const auto load = [](const Builtin& b) { return load_model(b).arch; };
  const std::vector<Arch> archs = spread(runner, builtin_models(), load);
  for (std::size_t i = 0; i < archs.size(); ++i) {
    const Builtin& b = builtin_models()[i];
    const Arch& arch = archs[i];
    const Parameters p = parameters(arch);
    const Bytes cached = cache_bytes_per_token(arch, Plan{});
    g.rows.push_back({std::string(b.name), short_text(p.total, Unit::parameters),
                      short_text(p.active, Unit::parameters), exact_text(arch.context),
                      human_text(cached.value, Unit::bytes)});
    json::Value row = head_json(b);
    row.update({{"parameters", p.total},
                {"active_parameters", p.active},
                {"context_tokens", arch.context},
                {"kv_cache_bytes_per_token", cached.value}});
    g.json.push_back(std::move(row));
  }
  return g;
}

/// A value in multiples of `unit`; a dash if unknown.
std::string in_units(double value, double unit) { return value > 0 ? fmt::format("{:.4g}", value / unit) : "-"; }

double lowest_price(const HardwareCard& card) {
  double least = 0;
  for (const Price& p : card.prices) least = least == 0 ? p.usd_per_hour : std::min(least, p.usd_per_hour);
  return least;
}

/// The matmul peak in 16 bits: the higher of bf16 and fp16.
FlopsPerSecond peak_of_16_bits(const Device& d) { return std::max(d.peak(dtypes::bf16), d.peak(dtypes::fp16)); }
double ridge(const Device& d) { return (peak_of_16_bits(d) / d.bandwidth).value; }

std::vector<std::string> device_text(const Builtin& b, const HardwareCard& card) {
  const Device& d = card.cluster.device;
  const double tera = 1e12, giga = 1e9;
  return {std::string(b.name),
          in_units(static_cast<double>(d.memory.value), 1 << 30),
          in_units(d.bandwidth.value, giga),
          in_units(peak_of_16_bits(d).value, tera),
          in_units(d.peak(dtypes::fp8).value, tera),
          in_units(ridge(d), 1),
          in_units(joining_link(card.cluster, 2).bandwidth.value, giga),
          in_units(card.watts, 1),
          in_units(lowest_price(card), 1)};
}

Grid hardware_grid(Runner& runner) {
  Grid g{.key = "devices",
         .title = "",
         .columns = {"name", "memory GiB", "GB/s", "16-bit TFLOP/s", "fp8 TFLOP/s", "ridge FLOP/B", "link GB/s",
                     "power W", "from USD/h"},
         .spare = {"ridge FLOP/B"},
         .rows = {}};
  const auto load = [](const Builtin& b) { return load_hardware(b); };
  const std::vector<HardwareCard> cards = spread(runner, builtin_hardware(), load);
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const Builtin& b = builtin_hardware()[i];
    const HardwareCard& card = cards[i];
    g.rows.push_back(device_text(b, card));
    json::Value row = head_json(b);
    row.update(hardware_json(card));
    if (ridge(card.cluster.device) > 0) row["ridge_flops_per_byte"] = ridge(card.cluster.device);
    if (card.watts > 0) row["power_w"] = card.watts;
    if (!card.prices.empty()) row["price_usd_per_h"] = lowest_price(card);
    g.json.push_back(std::move(row));
  }
  return g;
}

Grid dtypes_grid() {
  Grid g{.key = "dtypes",
         .title = "",
         .columns = {"name", "note", "bits/weight", "compute format"},
         .left = 2,
         .rows = {}};
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const DType t(i);
    const Format& f = t.format();
    const std::string peak = f.peak == Peak::none ? "-" : std::string(peak_names[static_cast<std::size_t>(f.peak)]);
    g.rows.push_back({std::string(f.name), std::string(f.note), fmt::format("{:g}", bits_per_weight(t)), peak});
    g.json.push_back({{"name", f.name}, {"bits_per_weight", bits_per_weight(t)}, {"note", f.note}});
  }
  return g;
}

Grid families_grid() {
  Grid g{.key = "families", .title = "", .columns = {"model_type"}, .left = 1, .rows = {}};
  for (const std::string& type : importable_types()) {
    g.rows.push_back({type});
    g.json.push_back({{"model_type", type}});
  }
  return g;
}

Output answer_list(const Arguments& arguments, Runner& runner) {
  const std::string what = arguments.word("models|hardware|software|capabilities|dtypes|families");
  Report report;
  report.command = "list";
  if (same_name(what, "models")) {
    report.grids.push_back(models_grid(runner));
    report.notes = {
        {"list_of_models",
         fmt::format(
             "{} models; 'llmcalc show NAME' prints one. The cache is in bf16, before any attention window is full",
             builtin_models().size())}};
  } else if (same_name(what, "hardware")) {
    report.grids.push_back(hardware_grid(runner));
    report.notes = {
        {"list_of_hardware",
         fmt::format("{} devices; 'llmcalc show NAME' prints one with its sources. Peaks are dense; the ridge is for "
                     "16-bit formats; link bandwidth is one-way; the price is the lowest listed",
                     builtin_hardware().size())}};
  } else if (same_name(what, "software")) {
    report.grids.push_back(software_grid());
    report.notes = {
        {"list_of_software",
         fmt::format(
             "{} stacks; 'llmcalc show NAME' prints one with its source, 'llmcalc list capabilities' shows what "
             "each can launch, 'llmcalc show training' and 'show inference' print the estimator parameters",
             builtin_software().size())}};
  } else if (same_name(what, "capabilities")) {
    report.grids = {capabilities_grid(), versions_grid()};
    report.notes = {
        {"capability_since_version", "a capability of a version also holds for later ones until a row changes it"}};
  } else if (same_name(what, "dtypes")) {
    report.grids.push_back(dtypes_grid());
    report.notes = {{"list_of_formats", fmt::format("{} number formats", formats.size())}};
  } else if (same_name(what, "families")) {
    report.grids.push_back(families_grid());
    report.notes = {
        {"list_of_families", fmt::format("{} values of model_type in config.json", report.grids.back().rows.size())}};
  } else {
    throw InputError(
        fmt::format("'llmcalc list': expected models, hardware, software, capabilities, dtypes or families, got {}",
                    in_quotes(what)));
  }
  return {std::move(report)};
}

constexpr std::array list_words{
    Word{.name = "models|hardware|software|capabilities|dtypes|families", .help = "the list to print", .key = "kind"}};

}  // namespace

const Command list_command{.name = "list",
                           .arguments = "models|hardware|...",
                           .summary = "built-in presets and formats",
                           .about = "Lists built-in presets, number formats and model families.",
                           .examples = "  llmcalc list models\n  llmcalc list hardware --json",
                           .words = list_words,
                           .parts = part::styles | part::records,
                           .keys = "models devices software capabilities versions dtypes families machine",
                           .answer = answer_list};

}  // namespace llmcalc
