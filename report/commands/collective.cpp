#include <array>

#include "ask/request/options/options.hpp"
#include "presets/load.hpp"
#include "report/collective_report.hpp"
#include "report/commands/arguments.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"

namespace llmcalc {

namespace {

Output answer_collective(const Arguments& arguments, Runner&) {
  const std::string bytes = arguments.text("--bytes"), ranks = arguments.text("--ranks"),
                    hardware = arguments.text("--hardware");
  if (bytes.empty() || ranks.empty()) throw InputError("'llmcalc collective' needs --bytes M and --ranks N");
  if (arguments.has("--latency") && !arguments.has("--bandwidth") && hardware.empty())
    throw InputError("--latency has no effect without --bandwidth or --hardware; add one of them");
  if (arguments.has("--latency") && arguments.has("--bandwidth") && !hardware.empty())
    throw InputError("--hardware has no effect with --bandwidth and --latency; omit it");
  CollectiveQuestion q;
  q.op = arguments.word("OP");
  q.bytes = parse_bytes(bytes, "--bytes", Bare::allowed);
  q.ranks = parse_positive(ranks, "--ranks");
  if (!hardware.empty()) q.hardware = arguments.hardware();
  if (arguments.has("--bandwidth"))
    q.bandwidth = parse_rate(arguments.text("--bandwidth"), "--bandwidth", arguments.bare());
  if (arguments.has("--latency")) q.latency = parse_seconds(arguments.text("--latency"), "--latency", arguments.bare());
  return {collective_report(q)};
}

constexpr std::array collective_words{
    Word{.name = "OP",
         .help = "broadcast, gather, reduce, all-gather, all-reduce, reduce-scatter, all-to-all, p2p",
         .key = "operation"}};
constexpr std::array collective_options{
    Option{"--bytes", "M", "message size: all-gather output, reduce-scatter input"}, Option{"--ranks", "N", "ranks"},
    Option{"--hardware", "HW", "hardware that provides the link or network"},
    Option{"--bandwidth", "RATE", "one-way bandwidth per rank; overrides the hardware's"},
    Option{"--latency", "TIME", "latency per message; overrides the hardware's"}};

}  // namespace

const Command collective_command{
    .name = "collective",
    .arguments = "OP --bytes M --ranks N",
    .summary = "volume and time of a collective",
    .about = "Computes the volume and alpha-beta time of a collective for every supported algorithm.",
    .examples =
        "  llmcalc collective all-reduce --bytes 1GiB --ranks 8 --hardware h100\n"
        "  llmcalc collective broadcast --bytes 400MB --ranks 64 --bandwidth 25GB/s",
    .words = collective_words,
    .own = collective_options,
    .parts = part::styles | part::exact,
    .keys = "hardware inputs conventions link reached_link algorithms",
    .answer = answer_collective};

}  // namespace llmcalc
