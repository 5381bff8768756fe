#pragma once
/// Times as sums over operators. The terms are the roofline's terms, with the FLOPs and bytes that --ops lists.

#include "calc/cost/cost.hpp"
#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// Selects terms of a sum: those limited by the peak compute rate, those limited by the bandwidth, or both.
enum class Limited : std::uint8_t { either, compute, memory };

/// One pass: a training micro-batch, a prefill, a decode step.
struct TimedPass {
  Step step;
  Phase phase = Phase::training;
};
TimedPass training_pass(const Plan& p);
TimedPass prefill_pass(const Plan& p);
TimedPass decode_pass(const Plan& p, Count context);
TimedPass drafting_pass(const Plan& p, Count context);

/// Time of the operators and collectives of one pass on one rank. `bound`: at full efficiency.
Formula pass_time(const Setting& s, const TimedPass& pass, bool bound);

/// Parts of pass_time(). `n`: number of passes ("m" or empty).
Formula compute_time(const Setting& s, const TimedPass& pass, const std::string& n);
Formula memory_time(const Setting& s, const TimedPass& pass, const std::string& n);
Formula launch_time(const Setting& s, const TimedPass& pass, const std::string& n);
/// Time of the matmuls, the attention cores or the other operators, without launch overhead.
Formula work_time(const Setting& s, const TimedPass& pass, Part part, const std::string& n);
/// Time of the collectives inside layers for one kind of parallelism; "0" if the pass has no collectives.
Formula communication_time(const Setting& s, const TimedPass& pass, Part part, const std::string& n);

/// Under the roofline of a whole step: ratio of the pass's time to the time of its FLOPs.
double step_slowdown(const Setting& s, const TimedPass& pass);

/// Whether all tensor-parallel ranks share one link, so that one formula covers their collectives.
bool is_one_ring(const Setting& s);

/// FLOPs executed over bytes moved, per rank.
Formula pass_intensity(const Setting& s, const TimedPass& pass);

/// Time of one rank's FLOPs in a forward-only pass, each at the peak of its format.
Seconds compute_seconds(const Arch& arch, const Plan& plan, const Layout& layout, const TimedPass& pass,
                        const Rates& rates);

/// The rate used for times: "pi" or "e*pi"; "beta" or "e_m*beta".
std::string compute_rate(const Setting& s, bool bound);
std::string memory_rate(const Setting& s, bool bound);
/// The exposed share of communication: "(1 - omega)" if it is partly overlapped.
std::string exposed(const Setting& s);
/// Exposed time of a ring collective of M bytes: (1 - omega)*a*(T - 1)*(alpha + M/(T*beta_l)).
std::string ring_text(const Setting& s, bool bound, const std::string& passes, const std::string& bytes);

}  // namespace llmcalc::explain
