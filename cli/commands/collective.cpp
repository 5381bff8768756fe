#include "calc/collective.hpp"

#include <fmt/format.h>

#include <array>

#include "calc/roofline.hpp"
#include "cli/command.hpp"
#include "cli/commands/ask.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

CollectiveOp operation(const std::string& text) {
  if (const auto op = parse<CollectiveOp>(text)) return *op;
  throw InputError(fmt::format("OP: expected {}, got {}", one_of(choice_names<CollectiveOp>), in_quotes(text)));
}

/// The link that joins the ranks, from --bandwidth and --latency, or from the hardware.
Link link(const std::string& bandwidth, const std::string& latency, const std::optional<HardwareCard>& hardware,
          Count ranks) {
  Link l;
  if (hardware) l = joining_link(hardware->cluster, ranks);
  if (!bandwidth.empty()) l.bandwidth = parse_rate(bandwidth, "--bandwidth");
  if (!latency.empty()) l.latency = parse_seconds(latency, "--latency");
  l.ranks = ranks;
  return l;
}

int run_collective(const Arguments& arguments) {
  const std::string bytes = arguments.text("--bytes"), ranks = arguments.text("--ranks"),
                    hardware = arguments.text("--hardware");
  if (bytes.empty() || ranks.empty()) throw InputError("'llmcalc collective' needs --bytes M and --ranks N");
  const CollectiveOp o = operation(arguments.word("OP"));
  const Bytes m = parse_bytes(bytes, "--bytes", Bare::allowed);
  const Count n = parse_positive(ranks, "--ranks");
  if (arguments.has("--latency") && !arguments.has("--bandwidth") && hardware.empty())
    throw InputError("--latency changes nothing without --bandwidth or --hardware; add one of them");
  if (arguments.has("--latency") && arguments.has("--bandwidth") && !hardware.empty())
    throw InputError("--hardware changes nothing beside --bandwidth and --latency; leave it out");
  std::optional<HardwareCard> card;
  if (!hardware.empty()) card = load_hardware(hardware);
  const Link l = link(arguments.text("--bandwidth"), arguments.text("--latency"), card, n);
  const bool timed = l.bandwidth.value > 0;
  if (card && !timed)
    throw InputError(fmt::format("{} states no link that joins {} devices; give --bandwidth", card->name, n));

  Report report;
  report.command = "collective";
  report.title = fmt::format("{} of {} over {} ranks", name(o), human_text(m.value, Unit::bytes), n);
  if (card) report.hardware = {{"name", card->name}, {"source", card->source}};
  report.inputs = {{"op", name(o)}, {"bytes", m.value}, {"ranks", n}};
  if (timed) report.inputs["bandwidth_bytes_per_s"] = l.bandwidth.value, report.inputs["latency_s"] = l.latency.value;
  report.conventions = {{"bytes",
                         "all-reduce, broadcast, reduce: the message; all-gather, gather: the output; reduce-scatter: "
                         "the input; all-to-all: one rank's send buffer"},
                        {"time", "rounds x latency + load x bytes / bandwidth; one way, per rank"}};
  Grid g{.key = "algorithms",
         .title = "",
         .columns = {"algorithm", "rounds", "busiest rank sends", "exact", "time"},
         .rows = {}};
  for (const CollectiveAlgorithm a : algorithms(o)) {
    const CollectiveFlaw flaw = timed ? collective_flaw(o, a, m, n, l) : CollectiveFlaw::none;
    if (flaw != CollectiveFlaw::none) throw InputError(fmt::format("{} over {} ranks: {}", name(o), n, reason(flaw)));
    const auto schedule = collective_schedule(o, a, n);
    if (!schedule) continue;
    const ByteFraction volume = collective_volume(o, a, m, n);
    json::Value v{{"algorithm", name(a)}, {"rounds", schedule->rounds}, {"volume_bytes", volume.value()}};
    std::string time = "-";
    if (timed) {
      const Seconds t = collective_time(o, a, m, n, l);
      time = human_text(t.value, Unit::seconds);
      v["time_s"] = t.value;
    }
    g.rows.push_back({std::string(name(a)), fmt::format("{}", schedule->rounds),
                      human_text(volume.value(), Unit::bytes), fmt::format("{}", volume.value()), time});
    g.json.push_back(std::move(v));
  }
  const Grid& grid = report.grids.emplace_back(std::move(g));
  if (timed && l.latency.value == 0) report.notes.push_back("the latency is not known and counts as 0");
  report.conclusion = fmt::format("{} by {} moves {} over the busiest rank's link{}.", name(o),
                                  name(default_algorithm(o)), grid.rows[0][2], timed ? " in " + grid.rows[0][4] : "");
  return print(report, arguments.style());
}

constexpr std::array words{
    Word{"OP", "broadcast, gather, reduce, all-gather, all-reduce, reduce-scatter, all-to-all, p2p"}};
constexpr std::array own{Option{"--bytes", "M", "message: all-gather's output, reduce-scatter's input"},
                         Option{"--ranks", "N", "ranks"}, Option{"--hardware", "HW", "whose link or network"},
                         Option{"--bandwidth", "RATE", "one way, per rank, in place of the hardware's"},
                         Option{"--latency", "TIME", "per message, in place of the hardware's"}};

}  // namespace

const Command collective_command{
    .name = "collective",
    .arguments = "OP --bytes M --ranks N",
    .summary = "volume and time of a collective",
    .about = "Volume and alpha-beta time of a collective, by every algorithm that does it.",
    .examples =
        "  llmcalc collective all-reduce --bytes 1GiB --ranks 8 --hardware h100\n"
        "  llmcalc collective broadcast --bytes 400MB --ranks 64 --bandwidth 25GB/s",
    .words = words,
    .own = own,
    .parts = part::styles,
    .run = run_collective};

}  // namespace llmcalc
