#include "cli/command.hpp"
#include "cli/commands/ask.hpp"
#include "presets/load.hpp"
#include "report/collective_report.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"

namespace llmcalc {

int run_collective(Args args) {
  Arguments arguments("collective", "Volume and alpha-beta time of a collective, by every algorithm that does it.",
                      "  llmcalc collective all-reduce --bytes 1GiB --ranks 8 --hardware h100\n"
                      "  llmcalc collective broadcast --bytes 400MB --ranks 64 --bandwidth 25GB/s --latency 5us");
  std::string op, bytes, ranks, hardware, bandwidth, latency;
  arguments.positional("OP", "broadcast, gather, reduce, all-gather, all-reduce, reduce-scatter, all-to-all, p2p", op);
  arguments.option("--bytes", "M", "message: all-gather's output, reduce-scatter's input", bytes);
  arguments.option("--ranks", "N", "ranks", ranks);
  arguments.option("--hardware", "HW", "whose link or network", hardware);
  arguments.option("--bandwidth", "RATE", "one way, per rank, in place of the hardware's", bandwidth);
  arguments.option("--latency", "TIME", "per message, in place of the hardware's", latency);
  arguments.styles();
  if (!arguments.parse(args)) return 0;
  if (bytes.empty() || ranks.empty()) throw InputError("'llmcalc collective' wants --bytes M and --ranks N");
  CollectiveQuestion q;
  q.op = op;
  q.bytes = parse_bytes(bytes, "--bytes", Bare::allowed);
  q.ranks = parse_positive(ranks, "--ranks");
  if (!hardware.empty()) q.hardware = load_hardware(hardware);
  if (!bandwidth.empty()) q.bandwidth = parse_rate(bandwidth, "--bandwidth");
  if (!latency.empty()) q.latency = parse_seconds(latency, "--latency");
  return print(collective_report(q), arguments.style());
}

}  // namespace llmcalc
