#include "report/plan/plan_space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>

#include "ask/answer/process_estimate.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/prices.hpp"
#include "ask/request/request.hpp"
#include "ask/request/software.hpp"
#include "report/plan/plan_report.hpp"
#include "report/question.hpp"
#include "report/train/run_section.hpp"
#include "search/numbers.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Rejects training options without effect on a search.
void refuse_unsearched(const Request& r) {
  constexpr std::array ignored{"--dp",      "--stage-layers",         "--stages", "--mfu",         "--days", "--mtbf",
                               "--restart", "--checkpoint-bandwidth", "--pue",    "--require-fit", "--co2"};
  for (const char* option : ignored)
    if (r.gave(option))
      throw InputError(fmt::format(
          "{} has no effect in a search; omit it, and pass it to 'llmcalc train' with one of the plans found", option));
}

/// Rejects schedules that a search does not try.
void refuse_schedule(const Request& r) {
  const Schedule s = r.layout.schedule;
  if (!r.gave("--schedule") || std::ranges::find(searched_schedules, s) != searched_schedules.end()) return;
  std::vector<std::string_view> tried;
  for (const Schedule one : searched_schedules) tried.push_back(name(one));
  throw InputError(fmt::format("--schedule {} is not searched; use {}, or pass it to 'llmcalc train' with a layout",
                               name(s), one_of(fmt::format("{}", fmt::join(tried, "|")))));
}

/// Checks the request independently of its layout: lengths, formats, weights, a batch of whole micro-batches.
void check_besides_layout(const Request& r) {
  check_software(r, part::training | part::time);
  Request one = r;
  one.layout = Layout{.collectives = r.layout.collectives};
  one.layout.zero = r.layout.zero;
  check(one, part::training | part::time);
}

}  // namespace

namespace {

/// Plans that the request's software can launch: all plans with --any-software or without known software.
Launchable launchable_by(const Request& r) {
  Launchable all;
  if (!r.software || r.any_software) return all;
  const Capabilities& has = r.software->capabilities;
  std::erase_if(all.schedules, [&](Schedule s) { return !has.has(Capability::schedules, name(s)); });
  const auto degree = [&](std::string_view word) { return has.has(Capability::parallelism, word); };
  all.tp = degree("tp");
  all.sp = degree("sp");
  all.cp = degree("cp") && has.has(Capability::context, name(r.layout.context_method));
  all.ep = degree("ep");
  all.pp = degree("pp");
  for (std::size_t stage = 1; stage < all.zero.size(); ++stage) {
    all.zero[stage] = has.has(Capability::zero, std::to_string(stage));
    all.zero_in_pipeline[stage] = all.zero[stage] && has.has(Capability::zero_in_pipeline, std::to_string(stage));
  }
  return all;
}

/// Test of whether a plan's process is expected to fit; empty without a process estimate.
decltype(Space::process_fits) process_test(const Request& r) {
  if (!has_process_estimate(r)) return {};
  return [shared = std::make_shared<const Request>(r)](const Space& space, const Candidate& c, Bytes peak) {
    const Request one = request_of(*shared, space, c);
    const auto process = process_estimate(one, peak);
    return !process || fits(*process);
  };
}

}  // namespace

Space space_of(const Request& r, Objective objective, std::size_t best) {
  if (!r.gpus) throw InputError("'llmcalc plan train' needs --gpus N, the number of GPUs to plan for");
  refuse_unsearched(r);
  refuse_schedule(r);
  check_besides_layout(r);
  Space s;
  s.arch = r.model.arch;
  s.plan = r.plan;
  s.layout = r.layout;
  s.cluster = r.hardware->cluster;
  s.gpus = {*r.gpus};
  s.objective = objective;
  s.price_per_hour = price_of(r).value_or(1);
  s.watts = r.run.watts.value_or(r.hardware->watts > 0 ? r.hardware->watts : 1);
  s.best = best;
  s.launchable = launchable_by(r);
  s.process_fits = process_test(r);
  const auto fix = [&](std::string_view option, Count& to, Count value) {
    if (r.gave(option)) to = value;
  };
  fix("--tp", s.fixed.tp, r.layout.tp);
  fix("--cp", s.fixed.cp, r.layout.cp);
  fix("--ep", s.fixed.ep, r.layout.ep);
  fix("--etp", s.fixed.etp, r.layout.etp);
  fix("--pp", s.fixed.pp, r.layout.pp);
  fix("--chunks", s.fixed.chunks, r.layout.chunks);
  fix("--micro-batch", s.fixed.micro_batch, r.plan.micro_batch);
  if (r.gave("--sp")) s.fixed.sp = r.layout.sp;
  if (r.gave("--recompute"))
    s.fixed.recompute = r.plan.recompute;
  else
    s.blocks = powers_up_to(r.model.arch.layers / 2);
  if (r.gave("--zero") || r.gave("--fsdp")) s.fixed.zero = r.layout.zero;
  if (r.gave("--schedule")) s.fixed.schedule = r.layout.schedule;
  return s;
}

namespace {

/// An option that fixes a degree, and the corresponding member of the space.
struct Degree {
  std::string_view option;
  Count Fixed::*fixed;
};
constexpr std::array all_degrees{Degree{"--tp", &Fixed::tp},         Degree{"--cp", &Fixed::cp},
                                 Degree{"--ep", &Fixed::ep},         Degree{"--pp", &Fixed::pp},
                                 Degree{"--chunks", &Fixed::chunks}, Degree{"--micro-batch", &Fixed::micro_batch}};

/// The obstacle to plans with the specified degrees and all other degrees at 1.
std::string obstacle_text(const Request& r, Count gpus) {
  Request one = r;
  const Count replica = replica_devices(r.layout);
  one.layout.dp = gpus % replica == 0 ? gpus / replica : 1;
  try {
    check(one, part::training | part::time);
  } catch (const InputError& e) {
    const std::string_view said = e.what();
    return std::string(said.substr(0, said.find(';')));
  }
  if (gpus % replica != 0)
    return fmt::format("the {} GPUs of one model replica (--tp x --cp x --pp) do not divide {}", replica, gpus);
  return "no layout satisfies all given options";
}

/// Values of a degree with which some plan is possible, with all other options unchanged: "--tp 1, 2 or 4".
std::string possible_values(const Space& space, const Degree& d) {
  std::vector<Count> values;
  Space one = space;
  const Count most = d.fixed == &Fixed::micro_batch ? space.plan.global_batch
                     : d.fixed == &Fixed::ep        ? space.arch.moe.experts
                     : d.fixed == &Fixed::chunks    ? static_cast<Count>(most_chunks)
                                                    : space.gpus.back();
  for (const Count n : d.fixed == &Fixed::chunks ? numbers_up_to(most) : divisors(most)) {
    one.fixed.*d.fixed = n;
    if (values.size() < 12 && any_possible(one)) values.push_back(n);
  }
  return values.empty() ? "" : fmt::format("{} {}", d.option, one_of(fmt::format("{}", fmt::join(values, "|"))));
}

/// An option without which some plan is possible.
std::string possible_without(const Request& r, const Space& space) {
  const auto without = [&](std::string_view option, const auto& release) {
    Space one = space;
    release(one.fixed);
    return r.gave(option) && any_possible(one) ? std::string(option) : "";
  };
  for (const std::string& option :
       {without("--sp", [](Fixed& f) { f.sp.reset(); }), without("--etp", [](Fixed& f) { f.etp = 0; }),
        without("--schedule", [](Fixed& f) { f.schedule.reset(); }),
        without("--zero", [](Fixed& f) { f.zero.reset(); }), without("--fsdp", [](Fixed& f) { f.zero.reset(); })})
    if (!option.empty()) return option;
  return "";
}

/// The largest number of GPUs, below the space's number, on which some plan is possible; 0 if the next hundred
/// numbers have no plan.
Count possible_number(const Space& space) {
  Space one = space;
  for (Count n = space.gpus.back() - 1; n > 0 && n + 100 > space.gpus.back(); --n) {
    one.gpus = {n};
    if (any_possible(one)) return n;
  }
  return 0;
}

/// Throws InputError unless the shard ranks (--hsdp) divide the data-parallel ranks of some plan.
void require_shards(const Request& r, const Space& space) {
  if (!r.gave("--hsdp") || any_possible(space)) return;
  std::vector<Count> values;
  for (const Count n : divisors(space.gpus.back())) {
    Space other = space;
    other.layout.hsdp = n;
    if (n > 1 && any_possible(other)) values.push_back(n);
  }
  const std::string numbers = one_of(fmt::format("{}", fmt::join(values, "|")));
  throw InputError(fmt::format("--hsdp {}: no plan on {} shards states over {} ranks; {}", r.layout.hsdp,
                               counted(space.gpus.back(), "GPU"), r.layout.hsdp,
                               values.empty() ? "omit it" : "use " + numbers));
}

}  // namespace

void require_possible(const Request& r, const Space& space) {
  require_shards(r, space);
  if (any_possible(space)) return;
  const Count gpus = space.gpus.back();
  const std::string why = obstacle_text(r, gpus);
  for (const Degree& d : all_degrees)
    if (r.gave(d.option))
      if (const std::string values = possible_values(space, d); !values.empty())
        throw InputError(fmt::format("{}; on {} use {}", why, counted(gpus, "GPU"), values));
  if (const std::string option = possible_without(r, space); !option.empty())
    throw InputError(fmt::format("{}; omit {}", why, option));
  const bool lacks_link = why.find("defines no link") != std::string::npos;
  const std::string file = lacks_link ? ", or a hardware file that defines one" : "";
  if (const Count n = possible_number(space); n > 0) throw InputError(fmt::format("{}; use --gpus {}{}", why, n, file));
  throw InputError(
      fmt::format("{}; no layout of {} is possible; change the parallel sizes", why, counted(gpus, "GPU")));
}

}  // namespace llmcalc
