#pragma once
/// Times as sums over operators: the roofline's terms, with the FLOPs and bytes that --ops lists.

#include "calc/cost/cost.hpp"
#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// Selects terms of a sum: those that the peak limits, those that the bandwidth limits, or both.
enum class Limited : std::uint8_t { either, compute, memory };

/// One pass: a training micro-batch, a prefill, a decode step.
struct ClockPass {
  Step step;
  Phase phase = Phase::training;
};
ClockPass training_pass(const Plan& p);
ClockPass prefill_pass(const Plan& p);
ClockPass decode_pass(const Plan& p, Count context);
ClockPass drafting_pass(const Plan& p, Count context);

/// Time of one pass on one rank: operators and collectives. bound: at full efficiency.
Formula pass_time(const Setting& s, const ClockPass& pass, bool bound);

/// The parts of it; n: how often the pass is run ("m" or empty).
Formula compute_time(const Setting& s, const ClockPass& pass, const std::string& n);
Formula memory_time(const Setting& s, const ClockPass& pass, const std::string& n);
Formula launch_time(const Setting& s, const ClockPass& pass, const std::string& n);
/// Matrix products, attention's cores, or the other operators, without launches.
Formula work_time(const Setting& s, const ClockPass& pass, Part part, const std::string& n);
/// Exchanges of one kind of parallelism inside of layers; "0" where there are none.
Formula exchange_time(const Setting& s, const ClockPass& pass, Part part, const std::string& n);

/// Under the roofline of a whole step: the pass's time over that of its FLOPs.
double step_slowdown(const Setting& s, const ClockPass& pass);

/// Whether all tensor-parallel ranks share one link, so that one formula says what they exchange.
bool is_one_ring(const Setting& s);

/// FLOPs executed over bytes moved, of one rank.
Formula pass_intensity(const Setting& s, const ClockPass& pass);

/// Time of one rank's FLOPs in a pass without backward, each at the peak of its format.
Seconds compute_seconds(const Arch& arch, const Plan& plan, const Layout& layout, const ClockPass& pass,
                        const Rates& rates);

/// "pi" or "e*pi", "beta" or "e_m*beta": the rate that times are computed with.
std::string compute_rate(const Setting& s, bool bound);
std::string memory_rate(const Setting& s, bool bound);
/// "(1 - omega)" where communication is hidden in part.
std::string exposed(const Setting& s);
/// A ring collective of M bytes that is not hidden: (1 - omega)*a*(T - 1)*(alpha + M/(T*beta_l)).
std::string ring_text(const Setting& s, bool bound, const std::string& passes, const std::string& bytes);

}  // namespace llmcalc::explain
