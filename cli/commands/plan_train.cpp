#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "calc/offload.hpp"
#include "calc/run.hpp"
#include "cli/command.hpp"
#include "cli/commands/ask.hpp"
#include "cli/commands/plan.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "presets/load.hpp"
#include "report/measured_scale.hpp"
#include "report/offload.hpp"
#include "report/plan_goals.hpp"
#include "report/plan_report.hpp"
#include "report/question.hpp"
#include "search/search.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

/// When a search may end: with all plans compared, or at the first that fits.
enum class Until : std::uint8_t { all, fit };

/// The progress of all threads together.
class SearchProgress {
 public:
  explicit SearchProgress(std::size_t threads, std::string what = "") : what_(std::move(what)), done_(threads) {}
  void show(std::size_t thread, double done, const Found* best) {
    const std::lock_guard lock(mutex_);
    done_[thread] = done;
    double all = 0;
    for (const double d : done_) all += d / static_cast<double>(done_.size());
    if (best != nullptr && (step_.value == 0 || best->step < step_)) step_ = best->step;
    const std::string found =
        step_.value == 0 ? "nothing fits yet" : "best " + human_text(Quantity(step_.value), Unit::seconds);
    line_.show(fmt::format("{}{:.0f} % searched, {}{}", what_, 100 * all, found, left_text(line_.seconds(), all)));
  }

 private:
  std::mutex mutex_;
  std::string what_;
  std::vector<double> done_;
  Seconds step_;
  ProgressLine line_{"searching"};
};

SearchResult search_on_all_cores(const Space& space, const std::string& what = "", Until until = Until::all) {
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  const std::atomic<bool>& stop = stop_flag();
  std::atomic<bool> enough = false;
  std::vector<SearchResult> parts(threads);
  SearchProgress progress(threads, what);
  std::vector<std::jthread> running;
  for (std::size_t i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      const Watch watch{.stop = [&] { return stop.load() || enough.load(); },
                        .progress =
                            [&, i](double done, const Found* best) {
                              if (until == Until::fit && best != nullptr) enough = true;
                              progress.show(i, done, best);
                            }};
      parts[i] = search(space, {static_cast<Count>(i), static_cast<Count>(threads)}, watch);
    });
  running.clear();
  return merge(space, parts);
}

/// Narrows a search with a deadline to the fewest GPUs that keep it.
void keep_deadline(Request& r, const Arguments& arguments) {
  const std::string text = arguments.text("--deadline");
  if (text.empty()) return;
  const double days = parse_positive_real(text, "--deadline");
  const std::atomic<bool>& stop = stop_flag();
  ProgressLine line("searching for the fewest GPUs");
  r.gpus =
      gpus_for(r, space_of(r, Objective::time, 1), days, {.stop = [&stop] { return stop.load(); }, .progress = {}});
}

constexpr const char* gpus_twice = "--gpus says how many GPUs, and --max-gpus asks how many; give one of them";

/// The GPUs of --gpus, or the most that --max-gpus allows.
void read_gpus(Request& r, const Arguments& arguments) {
  const std::string most = arguments.text("--max-gpus");
  if (most.empty()) return;
  if (r.gpus) throw InputError(gpus_twice);
  r.gpus = parse_positive(most, "--max-gpus");
}

/// Sequences per step: a multiple of the GPUs, so that every layout divides it.
void settle_batch(Request& r) {
  if (r.gave("--global-batch") || !r.gpus) return;
  r.plan.global_batch = *r.gpus;
}

Objective objective_of(const Arguments& arguments, const char* usual = "time") {
  const std::string text = arguments.text("--objective", usual);
  if (const auto o = parse<Objective>(text)) return *o;
  throw InputError(fmt::format("--objective: expected {}, got {}", one_of(choice_names<Objective>), in_quotes(text)));
}

std::size_t top_of(const Arguments& arguments) {
  return static_cast<std::size_t>(std::min<Count>(parse_positive(arguments.text("--top", "10"), "--top"), 1000));
}

int print_plans(const Report& report, const SearchResult& found, const Arguments& arguments) {
  const int code = print(report, arguments.screen());
  return found.stopped ? stopped_code() : code;
}

/// The best plans of all numbers of GPUs up to a most.
int plan_numbers(Request r, Space space, const std::optional<Request>& measured, const Arguments& arguments) {
  space.gpus = numbers_up_to(*r.gpus);
  const std::vector<OfNumber> numbers = search_numbers(
      space, [](const Space& one) { return search_on_all_cores(one, fmt::format("{} GPUs, ", one.gpus[0])); });
  std::vector<SearchResult> parts;
  for (const OfNumber& n : numbers) parts.push_back(n.found);
  const SearchResult found = merge(space, parts);
  require_plan(r, space, found);
  if (!found.best.empty()) r.gpus = found.best[0].candidate.gpus;
  Report report = plan_report(r, space, found, arguments.has("--pareto"));
  add_numbers(report, r, space, numbers);
  if (measured) note_rescaled(r, *measured, report);
  return print_plans(report, found, arguments);
}

/// The most of something that fits, and the best plans that hold it.
int plan_largest(Request r, const std::optional<Request>& measured, const Arguments& arguments) {
  for (const char* other : {"--max-gpus", "--deadline"})
    if (arguments.has(other))
      throw InputError(fmt::format("--largest asks what fits on --gpus N; leave {} out", other));
  const LargestQuestion q = largest_question(r, arguments.text("--largest"));
  const Space space = space_of(r, objective_of(arguments), top_of(arguments));
  const LargestFound most = largest(space, q, [&](const Space& one) {
    return search_on_all_cores(one, fmt::format("for the largest {}, ", name(q.of)), Until::fit);
  });
  const Request at = with_largest(r, space, q, most);
  const Space there = most.value ? with_value(space, q, *most.value) : space;
  const SearchResult found = search_on_all_cores(there);
  Report report = plan_report(at, there, found, arguments.has("--pareto"));
  add_largest(report, space, q, most, found.best.empty() ? nullptr : &found.best[0].candidate);
  if (measured) note_rescaled(r, *measured, report);
  return print_plans(report, found, arguments);
}

Request request_of_plan(const Arguments& arguments) {
  Request r;
  r.model = load_model(arguments.word("MODEL"));
  r.searches_layouts = true;
  arguments.apply(r, plan_train_parts);
  read_gpus(r, arguments);
  settle_batch(r);
  return r;
}

/// The plan of --measured-tokens-per-s: the options of --measured-plan, and besides them those of the search, under the
/// software of its estimates.
Request measured_plan(const Arguments& arguments, const Request& searched) {
  const auto train =
      std::find_if(commands().begin(), commands().end(), [](const Command& c) { return c.name == "train"; });
  std::vector<std::string> words = words_of(arguments.text("--measured-plan"));
  words.insert(words.begin(), arguments.word("MODEL"));
  try {
    const Arguments typed(*train, words);
    Request m;
    m.model = searched.model;
    m.software = searched.software;
    typed.with_plan_of(arguments).apply(m);
    check(m);
    return m;
  } catch (const InputError& e) {
    throw InputError(fmt::format(
        "--measured-tokens-per-s: {}; --measured-plan '--tp 8 ...' says which plan was measured", e.what()));
  }
}

/// Takes the factor by which the measured plan's estimate is off.
std::optional<Request> take_measured_scale(Request& r, const Arguments& arguments) {
  if (!r.run.measured_tokens_per_s) {
    if (arguments.has("--measured-plan"))
      throw InputError("--measured-plan says which plan --measured-tokens-per-s is of; give both");
    return std::nullopt;
  }
  if (arguments.has("--max-gpus") && !arguments.has("--measured-plan"))
    throw InputError(
        "--measured-tokens-per-s with --max-gpus needs --measured-plan '--gpus N ...', the plan that was measured");
  const Request m = measured_plan(arguments, r);
  const auto scale = measured_scale(m, train(m.model.arch, m.plan, m.layout, m.hardware->cluster));
  if (!scale)
    throw InputError("--measured-tokens-per-s re-scales estimates under software; leave out what goes without it");
  r.run.measured_scale = *scale;
  return m;
}

/// Options that have no answer for several kinds of hardware.
void refuse_for_rivals(const Arguments& arguments, Objective objective) {
  for (const char* other : {"--largest", "--pareto", "--price", "--measured-tokens-per-s"})
    if (arguments.has(other))
      throw InputError(fmt::format("{} is for one hardware, and --hardware names several; leave one out", other));
  if (objective == Objective::memory)
    throw InputError("--objective memory is for one hardware; several are compared by time, cost or energy");
  if (arguments.has("--gpus") && arguments.has("--max-gpus")) throw InputError(gpus_twice);
  if (!arguments.has("--gpus") && !arguments.has("--max-gpus"))
    throw InputError("--hardware with several names needs --gpus N or --max-gpus N, the GPUs to plan for");
  if (!arguments.has("--tokens"))
    throw InputError("--hardware with several names compares runs; add --tokens D, the tokens to train on");
}

/// One hardware of several as it stands before it is searched.
Rival rival(const std::string& name, const Arguments& arguments, Objective objective) {
  const HardwareCard card = load_hardware(name);
  Rival v{.name = card.name, .left_out = why_left_out(card)};
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

/// The best hardware of several for a whole run, and the plans on it.
int plan_hardware(const std::vector<std::string>& names, const Arguments& arguments) {
  const Objective objective = objective_of(arguments, "cost");
  refuse_for_rivals(arguments, objective);
  std::optional<double> limit;
  if (arguments.has("--deadline")) limit = parse_positive_real(arguments.text("--deadline"), "--deadline");
  std::vector<Rival> rivals;
  for (const std::string& name : names) rivals.push_back(rival(name, arguments, objective));
  for (Rival& v : rivals) {
    if (!v.left_out.empty()) continue;
    v.offer.stopped = stop_flag().load();
    if (v.offer.stopped) continue;
    v.offer = offer(v.space, static_cast<double>(*v.request.run.tokens),
                    limit ? std::optional(Seconds(*limit * seconds_per_day)) : std::nullopt, [&](const Space& one) {
                      return search_on_all_cores(one, fmt::format("{} x {}, ", one.gpus[0], v.name));
                    });
  }
  const Rival* best = best_rival(rivals, limit);
  if (best == nullptr) return stopped_code();
  Request r = best->request;
  Space space = best->space;
  r.gpus = best->offer.best->candidate.gpus;
  space.gpus = {*r.gpus};
  space.best = top_of(arguments);
  SearchResult found = search_on_all_cores(space);
  if (found.stopped) found.best = {*best->offer.best};  // of the search before
  Report report = plan_report(r, space, found, false);
  add_rivals(report, rivals, *best, limit);
  return print_plans(report, found, arguments);
}

/// The plans of a space; where none fits, with the least offload to the host with which one does.
SearchResult search_with_offload(Request& r, Space& space) {
  const SearchResult found = search_on_all_cores(space);
  const bool has_host = space.cluster.device.host.link.value > 0;
  if (!found.best.empty() || found.stopped || r.gave("--offload") || !has_host) return found;
  const bool has_states = updates_on_host(space.plan);
  for (const char* what : {"optimizer", "activations", "optimizer,activations", "optimizer,weights,activations"}) {
    Request with = r;
    Space other = space;
    give(with, *find_option("--offload"), what);
    other.plan.offload = with.plan.offload;
    if (other.plan.offload.optimizer.numerator > 0 && !has_states) continue;
    const SearchResult more = search_on_all_cores(other, fmt::format("with --offload {}, ", what));
    if (more.stopped || !more.best.empty()) {
      r = with;
      space = other;
      return more;
    }
  }
  return found;
}

}  // namespace

int plan_train(const Arguments& arguments) {
  if (const auto names = hardware_names(arguments.text("--hardware")); !names.empty())
    return plan_hardware(names, arguments);
  Request r = request_of_plan(arguments);
  const std::optional<Request> measured = take_measured_scale(r, arguments);
  if (arguments.has("--largest")) return plan_largest(std::move(r), measured, arguments);
  keep_deadline(r, arguments);
  Space space = space_of(r, objective_of(arguments), top_of(arguments));
  if (arguments.has("--max-gpus") && !arguments.has("--deadline")) return plan_numbers(r, space, measured, arguments);
  const SearchResult found = search_with_offload(r, space);
  Report report = plan_report(r, space, found, arguments.has("--pareto"));
  if (r.plan.offload.any() && !arguments.has("--offload"))
    report.notes.insert(report.notes.begin(), fmt::format("no plan fits without offload; these are with --offload {}",
                                                          offload_text(r.plan.offload)));
  if (measured) note_rescaled(r, *measured, report);
  return print_plans(report, found, arguments);
}

}  // namespace llmcalc
