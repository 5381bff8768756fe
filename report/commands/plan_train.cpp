#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "ask/answer/interval.hpp"
#include "ask/answer/measured_scale.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/offload.hpp"
#include "ask/request/request.hpp"
#include "calc/run.hpp"
#include "presets/load.hpp"
#include "report/commands/plan.hpp"
#include "report/commands/plan_search.hpp"
#include "report/commands/questions.hpp"
#include "report/plan/plan_goals.hpp"
#include "report/plan/plan_largest.hpp"
#include "report/plan/plan_report.hpp"
#include "report/plan/plan_rivals.hpp"
#include "report/plan/plan_space.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/train/measured_notes.hpp"
#include "search/search.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

constexpr const char* gpus_twice = "--gpus sets the GPU count, and --max-gpus searches for it; specify one of them";

/// Sets the number of GPUs to the value of --max-gpus, if that option is set.
void read_gpus(Request& r, const Arguments& arguments) {
  const std::string most = arguments.text("--max-gpus");
  if (most.empty()) return;
  if (r.gpus) throw InputError(gpus_twice);
  r.gpus = parse_positive(most, "--max-gpus");
}

/// Sets the default number of sequences per step to the number of GPUs, so that every layout divides it, and the number
/// of replicas to the number of GPUs divided by the GPUs per replica.
void settle_batch(Request& r) {
  if (!r.gpus) return;
  if (!r.gave("--global-batch")) r.plan.global_batch = *r.gpus;
  if (const Count replica = replica_devices(r.layout); *r.gpus % replica == 0) r.layout.dp = *r.gpus / replica;
}

Objective objective_of(const Arguments& arguments, const char* usual = "time") {
  const std::string text = arguments.text("--objective", usual);
  if (const auto o = parse<Objective>(text)) return *o;
  throw InputError(fmt::format("--objective: expected {}, got {}", one_of(choice_names<Objective>), in_quotes(text)));
}

std::size_t top_of(const Arguments& arguments) {
  constexpr Count most = 1000;
  const Count top = parse_positive(arguments.text("--top", "10"), "--top");
  if (top > most)
    throw InputError(fmt::format("--top {}: a search keeps at most {} plans; use a smaller value", top, most));
  return static_cast<std::size_t>(top);
}

/// Prepends a note that the plans use offload, if the user did not request it.
void note_offload(Report& report, const Request& r, const Arguments& arguments) {
  if (!r.plan.offload.any() || arguments.has("--offload")) return;
  report.notes.insert(report.notes.begin(),
                      {"offload_chosen", fmt::format("no plan fits without offload; these plans use --offload {}",
                                                     offload_text(r.plan.offload))});
}

Output finish(Report& report, const Request& r, const SearchResult& found, const std::optional<Request>& measured,
              const Arguments& arguments) {
  note_offload(report, r, arguments);
  if (measured) note_rescaled(r, *measured, report);
  return {.content = std::move(report), .stopped = found.stopped};
}

bool holds_any(std::span<const OfNumber> numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](const OfNumber& n) { return !n.found.best.empty(); });
}

/// The best plans on a fixed number of GPUs.
Output plan_number(Request r, Space space, const std::optional<Request>& measured, const Arguments& arguments,
                   Runner& runner) {
  const SearchResult found = search_with_offload(runner, r, space);
  Report report = plan_report(r, space, found, arguments.has("--pareto"));
  if (found.best.empty() && !found.stopped) note_nothing_fits(report, r, gpus_that_fit(runner, r, space));
  return finish(report, r, found, measured, arguments);
}

/// The best plans over all numbers of GPUs up to a limit.
Output plan_numbers(Request r, Space space, const std::optional<Request>& measured, const Arguments& arguments,
                    Runner& runner) {
  space.some_numbers = true;
  std::vector<OfNumber> numbers;
  ask_with_offload(r, space, [&](const Space& all, const std::string& how) {
    numbers = search_numbers(all, [&](const Space& one) {
      return spread_search(runner, one, {.what = counted(one.gpus[0], "GPU") + ", " + how});
    });
    return numbers.back().found.stopped || holds_any(numbers);
  });
  std::vector<SearchResult> parts;
  for (const OfNumber& n : numbers) parts.push_back(n.found);
  const SearchResult found = merge(space, parts);
  if (found.best.empty() && !found.stopped) refuse_too_few(r, space, gpus_that_fit(runner, r, space));
  if (!found.best.empty()) r.gpus = found.best[0].candidate.gpus;
  Report report = plan_report(r, space, found, arguments.has("--pareto"));
  add_numbers(report, r, space, numbers);
  return finish(report, r, found, measured, arguments);
}

/// The smallest power-of-two number of GPUs, above the space's number, that meets a deadline. The search starts at
/// half the number estimated from the fastest run. Absent if not found within a few seconds.
std::optional<Count> gpus_in_time(const Request& r, Space space, const FastestRun& fastest, double limit,
                                  Runner& runner) {
  constexpr double enough_seconds = 5;
  const auto start = std::chrono::steady_clock::now();
  const Count asked = space.gpus.back();
  const double about = fastest.gpus_at_that_speed(limit);
  for (Count n = 1; static_cast<double>(n) < 8 * about && n < (1 << 20); n *= 2) {
    const double left =
        enough_seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (left <= 0) break;
    if (n <= asked || static_cast<double>(n) < about / 2) continue;
    space.gpus = {n};
    if (!r.gave("--global-batch")) space.plan.global_batch = n;
    const SearchResult found = spread_search(runner, space, {.what = counted(n, "GPU") + ", ", .limit = left});
    if (!found.best.empty() && in_time(r, space, found.best[0], limit)) return n;
  }
  return std::nullopt;
}

/// The best plans on the fewest GPUs that meet a deadline.
Output plan_deadline(Request r, const std::optional<Request>& measured, const Arguments& arguments, Runner& runner) {
  Space space = space_of(r, objective_of(arguments), top_of(arguments));
  const Count most = space.gpus.back();
  space.gpus = numbers_up_to(most);
  const double limit = deadline_of(r, space, arguments.text("--deadline"));
  require_possible(r, space);
  const Space asked = space;
  std::map<Count, Request> with_offload;  // requests with offload, by number of GPUs
  const FewestGpus few = fewest_gpus(
      space, fewest_in_time(r, space, limit), most,
      [&](const Space& one, const Found& f) { return in_time(r, one, f, limit); },
      [&](Space one) {
        Request& trial = with_offload.insert_or_assign(one.gpus[0], r).first->second;
        return search_with_offload(runner, trial, one, {.what = counted(one.gpus[0], "GPU") + ", "});
      });
  if (!few.found && !few.stopped) {
    const std::optional<FastestRun> fastest = fastest_run(r, space, few);
    if (!fastest) refuse_too_few(r, space, gpus_that_fit(runner, r, space));
    refuse_deadline(r, few, *fastest, limit, gpus_in_time(r, asked, *fastest, limit, runner));
  }
  const Count gpus = few.found ? few.found->candidate.gpus : few.tried.back().gpus;
  r = with_offload.at(gpus);
  r.gpus = gpus;
  space.plan.offload = r.plan.offload;
  space.gpus = {gpus};
  space.some_numbers = true;
  const auto tried =
      std::find_if(few.tried.begin(), few.tried.end(), [&](const OfNumber& n) { return n.gpus == *r.gpus; });
  Report report = plan_report(r, space, tried->found, arguments.has("--pareto"));
  add_deadline(report, r, space, few, limit);
  SearchResult found = tried->found;
  found.stopped = few.stopped;
  return finish(report, r, found, measured, arguments);
}

/// Start of the progress line: "for the largest sequence: 8,388,608, ".
std::string trying(Largest of, Count value) {
  return fmt::format("for the largest {}: {}, ", name(of), grouped_digits(fmt::format("{}", value)));
}

/// The plan found for the largest value; empty if no value fits.
std::vector<Found> plan_of_largest(const LargestFound& most) {
  for (const TriedValue& t : most.tried)
    if (t.plan && t.value == most.value) return {*t.plan};
  return {};
}

/// The largest value that fits, and the best plans with it.
Output plan_largest(Request r, const std::optional<Request>& measured, const Arguments& arguments, Runner& runner) {
  for (const char* other : {"--max-gpus", "--deadline"})
    if (arguments.has(other))
      throw InputError(fmt::format("--largest searches for the largest value on --gpus N; omit {}", other));
  const LargestQuestion q = largest_question(r, arguments.text("--largest"));
  Space space = space_of(r, objective_of(arguments), top_of(arguments));
  require_possible(r, space);
  std::map<Count, Request> with_offload;  // requests with offload, by value
  const LargestFound most = largest(space, q, [&](Space one) {
    const Count value = value_of(one, q);
    Request& trial = with_offload.insert_or_assign(value, r).first->second;
    return search_with_offload(runner, trial, one, {.what = trying(q.of, value), .until = Until::fit, .of_many = true});
  });
  if (!most.value && !most.stopped) refuse_largest(r, space, q, gpus_that_fit(runner, r, space));
  if (most.value) r = with_offload.at(*most.value);
  space.plan.offload = r.plan.offload;
  const Request at = with_largest(r, space, q, most);
  const Space there = most.value ? with_value(space, q, *most.value) : space;
  SearchResult found = spread_search(runner, there);
  if (found.best.empty() && most.stopped) found.best = plan_of_largest(most);
  Report report = plan_report(at, there, found, arguments.has("--pareto"));
  add_largest(report, space, q, most, found.best.empty() ? nullptr : &found.best[0].candidate);
  return finish(report, at, found, measured, arguments);
}

Request request_of_plan(const Arguments& arguments) {
  Request r;
  r.model = arguments.model();
  r.searches_layouts = true;
  arguments.apply(r, plan_train_parts);
  read_gpus(r, arguments);
  settle_batch(r);
  return r;
}

/// The plan to which --measured-tokens-per-s applies: the options in --measured-plan, all other options as in the
/// search, and the software of the search's estimates.
Request measured_plan(const Arguments& arguments, const Request& searched) {
  std::vector<std::string> words = words_of(arguments.text("--measured-plan"));
  words.insert(words.begin(), arguments.word("MODEL"));
  try {
    const Arguments typed(*answered_command("train"), words);
    Request m;
    m.model = searched.model;
    m.software = searched.software;
    typed.with_plan_of(arguments).apply(m);
    check(m);
    return m;
  } catch (const InputError& e) {
    throw InputError(
        fmt::format("--measured-tokens-per-s: {}; --measured-plan '--tp 8 ...' specifies the measured plan", e.what()));
  }
}

/// Sets the request's measured scale from the measured plan, and returns that plan; absent without a measurement.
std::optional<Request> take_measured_scale(Request& r, const Arguments& arguments) {
  if (!r.run.measured_tokens_per_s) {
    if (arguments.has("--measured-plan"))
      throw InputError("--measured-plan describes the plan of --measured-tokens-per-s; specify both");
    return std::nullopt;
  }
  if (arguments.has("--max-gpus") && !arguments.has("--measured-plan"))
    throw InputError("--measured-tokens-per-s with --max-gpus needs --measured-plan '--gpus N ...', the measured plan");
  const Request m = measured_plan(arguments, r);
  const auto scale = measured_scale(m, train(m.model.arch, m.plan, m.layout, m.hardware->cluster));
  if (!scale)
    throw InputError(
        "--measured-tokens-per-s rescales estimates of a software profile; omit the options that disable it");
  r.run.measured_scale = *scale;
  return m;
}

/// Rejects options that do not apply to several kinds of hardware.
void refuse_for_rivals(const Arguments& arguments, Objective objective) {
  if (arguments.has("--price") && arguments.text("--price").find('=') == std::string::npos)
    throw InputError("--price: --hardware lists several names; set a price for each, for example h100=2.1,mi300x=1.9");
  for (const char* other : {"--largest", "--pareto", "--measured-tokens-per-s"})
    if (arguments.has(other))
      throw InputError(
          fmt::format("{} requires a single hardware name, but --hardware lists several; omit one of the two", other));
  if (objective == Objective::memory)
    throw InputError(
        "--objective memory requires a single hardware name; several are compared by time, cost or energy");
  if (arguments.has("--gpus") && arguments.has("--max-gpus")) throw InputError(gpus_twice);
  if (!arguments.has("--gpus") && !arguments.has("--max-gpus"))
    throw InputError("--hardware with several names needs --gpus N or --max-gpus N, the number of GPUs to plan for");
  if (!arguments.has("--tokens"))
    throw InputError("--hardware with several names compares runs; add --tokens D, the number of tokens to train on");
}

/// One of several kinds of hardware, before it is searched.
Rival rival(const std::string& name, const Arguments& arguments, Objective objective) {
  const HardwareCard card = load_hardware(name);
  Rival v{.name = card.name, .left_out = why_left_out(card, objective)};
  if (!v.left_out.empty()) return v;
  try {
    v.request = request_of_plan(arguments.with("--hardware", name));
    v.space = space_of(v.request, objective, 1);
    if (arguments.has("--max-gpus")) v.space.gpus = numbers_up_to(*v.request.gpus);
    v.left_out = why_left_out(v.request, v.space);
  } catch (const InputError& e) {
    v.left_out = e.what();
  }
  return v;
}

/// Lower bound on the device-seconds of the run. `step`: lower bound for one step.
Seconds least_run(const Rival& v, Seconds step) {
  return real(*v.request.run.tokens) / real(mul(v.space.plan.global_batch, v.space.plan.seq)) * step;
}

/// Lower bound on the objective of a step that takes `step` device-seconds, on the largest number of GPUs.
double least_value(const Rival& v, Seconds step) {
  switch (v.space.objective) {
    case Objective::cost:
      return step.value / 3600 * v.space.price_per_hour;
    case Objective::energy:
      return step.value * v.space.watts;
    default:
      return step.value / real(v.space.gpus.back());
  }
}

/// Removes GPU counts that cannot meet the deadline, and excludes the rival if no count remains.
void drop_slow_numbers(Rival& v, Seconds least, std::optional<double> limit) {
  if (!limit) return;
  const Count most = v.space.gpus.back();
  v.least_days = days(Seconds(least.value / real(most)));
  std::erase_if(v.space.gpus, [&](Count n) { return least.value / real(n) > *limit * seconds_per_day; });
  if (v.space.gpus.empty())
    v.left_out = fmt::format("too slow: at least {:.1f} days on {}", v.least_days, counted(most, "GPU"));
}

/// Throws InputError if every rival misses the deadline even at the highest matmul rate.
void refuse_if_all_slow(const std::vector<Rival>& rivals, double limit) {
  const Rival* fastest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Rival& v : rivals) {
    if (!v.request.hardware || v.least_days <= 0) continue;
    if (v.left_out.empty()) return;
    if (v.least_days < least) least = v.least_days, fastest = &v;
  }
  if (fastest == nullptr) return;
  throw InputError(
      fmt::format("no plan on this hardware trains {} tokens in {:g} days; the fastest, on {}, takes at least {:.1f} "
                  "days: use more GPUs, or a later --deadline",
                  count_text(*fastest->request.run.tokens), limit, fastest->name, least));
}

/// Counts devices that no published run used at the slow end of their interval, if others were used.
void be_cautious(std::vector<Rival>& rivals) {
  const auto is_measured = [](const Rival& v) {
    return v.left_out.empty() && stands_on_runs(training_estimator(), *v.request.hardware);
  };
  if (std::none_of(rivals.begin(), rivals.end(), is_measured)) return;
  for (Rival& v : rivals) {
    if (!v.left_out.empty() || is_measured(v)) continue;
    if (const auto interval = interval_of(v.request)) v.caution = interval->factor;
  }
}

/// Searches the rivals in order of their bounds, and skips those whose bound exceeds the best offer.
void search_rivals(std::vector<Rival>& rivals, std::optional<double> limit, Runner& runner) {
  std::vector<std::pair<double, Rival*>> order;
  for (Rival& v : rivals) {
    if (!v.left_out.empty()) continue;
    const Seconds step = v.caution * least_estimated_device_seconds(v.space);
    drop_slow_numbers(v, least_run(v, step), limit);
    if (v.left_out.empty()) order.emplace_back(least_value(v, step), &v);
  }
  if (limit && order.empty()) refuse_if_all_slow(rivals, *limit);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < order.size(); ++i) {
    Rival& v = *order[i].second;
    if (order[i].first > best) {
      v.left_out = "its best possible run is worse than the best found";
      continue;
    }
    v.offer.stopped = runner.stopped();
    if (v.offer.stopped) continue;
    const std::string at = fmt::format("device {} of {}: ", i + 1, order.size());
    v.offer = offer(
        v.space, static_cast<double>(*v.request.run.tokens),
        limit ? std::optional(Seconds(*limit / v.caution * seconds_per_day)) : std::nullopt, [&](Space one) {
          Request trial = v.request;
          return search_with_offload(runner, trial, one, {.what = fmt::format("{}{} x {}, ", at, one.gpus[0], v.name)});
        });
    if (v.offer.best) best = std::min(best, v.value());
  }
}

/// The best of several kinds of hardware for a whole run, and the plans for it.
Output plan_hardware(const std::vector<std::string>& names, const Arguments& arguments, Runner& runner) {
  const Objective objective = objective_of(arguments, "cost");
  refuse_for_rivals(arguments, objective);
  std::optional<double> limit;
  if (arguments.has("--deadline")) limit = parse_positive_real(arguments.text("--deadline"), "--deadline");
  std::vector<Rival> rivals;
  for (const std::string& name : names) rivals.push_back(rival(name, arguments, objective));
  be_cautious(rivals);
  search_rivals(rivals, limit, runner);
  const Rival* best = best_rival(rivals, limit);
  if (best == nullptr) return {.content = {}, .stopped = true};
  Request r = best->request;
  Space space = best->space;
  r.gpus = best->offer.best->candidate.gpus;
  space.gpus = {*r.gpus};
  space.best = top_of(arguments);
  SearchResult found = search_with_offload(runner, r, space);
  if (found.stopped) found.best = {*best->offer.best};  // the best plan of the earlier search
  rivals[static_cast<std::size_t>(best - rivals.data())].offer.best = found.best.front();
  Report report = plan_report(r, space, found, false);
  note_offload(report, r, arguments);
  add_rivals(report, rivals, *best, limit);
  return {.content = std::move(report), .stopped = found.stopped};
}

}  // namespace

Output plan_train(const Arguments& arguments, Runner& runner) {
  if (const auto names = hardware_names(arguments.text("--hardware")); !names.empty())
    return plan_hardware(names, arguments, runner);
  Request r = request_of_plan(arguments);
  const std::optional<Request> measured = take_measured_scale(r, arguments);
  if (arguments.has("--largest")) return plan_largest(std::move(r), measured, arguments, runner);
  if (arguments.has("--deadline")) return plan_deadline(std::move(r), measured, arguments, runner);
  Space space = space_of(r, objective_of(arguments), top_of(arguments));
  const bool numbers = arguments.has("--max-gpus");
  if (numbers) space.gpus = numbers_up_to(*r.gpus);
  require_possible(r, space);
  return numbers ? plan_numbers(std::move(r), std::move(space), measured, arguments, runner)
                 : plan_number(std::move(r), std::move(space), measured, arguments, runner);
}

}  // namespace llmcalc
