#include "report/plan/plan_largest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/request/request.hpp"
#include "report/plan/plan_goals.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "search/evaluate.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// The option that sets the searched value; empty if no option does.
std::string_view looked_for(Largest of) {
  constexpr std::array options{"--global-batch", "--seq", "--micro-batch", ""};
  return options[static_cast<std::size_t>(of)];
}

/// A value with its unit: "a sequence of 8,192 tokens".
std::string amount_text(Largest of, Count n) {
  const std::string number = grouped_digits(fmt::format("{}", n));
  switch (of) {
    case Largest::batch:
      return fmt::format("a global batch of {}", number);
    case Largest::sequence:
      return fmt::format("a sequence of {} tokens", number);
    case Largest::micro_batch:
      return fmt::format("a micro-batch of {}", number);
    case Largest::layers:
      return fmt::format("{} layers", number);
  }
  return "";
}

/// The smallest tried value above the largest that fits; 0 if there is no such value.
Count next_tried(const LargestFound& found) {
  Count next = 0;
  for (const TriedValue& t : found.tried)
    if (t.value > *found.value && (next == 0 || t.value < next)) next = t.value;
  return next;
}

/// The limit of the search.
std::string_view bound_text(const Space& space, const LargestQuestion& q) {
  if (q.of == Largest::sequence && space.arch.learned_rows() > 0) return "the limit of its learned positions";
  if (q.of == Largest::micro_batch && !q.batch_follows) return "the whole batch";
  return "the largest value tried";
}

std::string largest_text(const Space& space, const LargestQuestion& q, const LargestFound& found) {
  const std::string amount = amount_text(q.of, *found.value);
  if (found.stopped) return amount + " or more; stopped early";
  if (found.any)
    return fmt::format("any batch size fits: above {}, no more micro-batches are in flight at once", amount);
  if (!found.bounded)
    return fmt::format("{}; no plan fits {}", amount, grouped_digits(fmt::format("{}", next_tried(found))));
  return fmt::format("{}, {}", amount, bound_text(space, q));
}

/// Why a value is not the answer; if it does not fit, the memory that the answer's best plan would lack at this value.
std::string why_not_largest(const Space& space, const LargestQuestion& q, const TriedValue& t, Count largest,
                            const Candidate* best) {
  if (t.plan) return t.value == largest ? "fits: the largest value tried" : "fits, as do larger values";
  if (best == nullptr) return "no plan fits";
  const Space at = with_value(space, q, largest), beyond = with_value(space, q, t.value);
  Candidate c = *best;
  if (q.of == Largest::micro_batch) c.micro_batch = t.value;
  try {
    const Evaluated here = evaluate(at, *best), there = evaluate(beyond, c);
    if (!there.possible() || there.fits) return "no plan fits";
    const GrownTerm most = most_grown(at, here, there);
    return fmt::format("no plan fits; the best plan of {} exceeds memory by {}: {} +{}",
                       grouped_digits(fmt::format("{}", largest)),
                       human_text(Quantity((there.found.peak - usable(beyond)).value), Unit::bytes),
                       memory_term_names[static_cast<std::size_t>(most.term)], bytes_text(most.by));
  } catch (const Overflow&) {
    return "no plan fits: the sizes overflow";
  }
}

/// Removes the plans' commands, because no option sets a model's layers.
void drop_commands(Report& report) {
  for (Grid& g : report.grids)
    if (g.json.is_array())
      for (json::Value& row : g.json)
        if (row.is_object()) row.erase("command");
  std::erase_if(report.verdict, [](const Finding& f) { return f.label == "command"; });
  report.notes.push_back(
      {"other_depth",
       "for a model of another depth, write a model file: 'llmcalc show MODEL --json' prints a template"});
}

}  // namespace

LargestQuestion largest_question(const Request& r, std::string_view text) {
  const std::optional<Largest> of = parse<Largest>(text);
  if (!of)
    throw InputError(
        fmt::format("--largest: expected {}, got {}", one_of(choice_names<Largest>), in_quotes(std::string(text))));
  const std::string_view option = looked_for(*of);
  if (!option.empty() && r.gave(option))
    throw InputError(fmt::format("--largest {} searches for {}; omit one of them", name(*of), option));
  if (*of == Largest::sequence && r.gave("--documents"))
    throw InputError("--largest sequence searches for the length that --documents sets; omit one of them");
  return {*of, *of == Largest::micro_batch && !r.gave("--global-batch")};
}

Request with_largest(Request r, const Space& space, const LargestQuestion& q, const LargestFound& found) {
  if (!found.value) return r;
  const Space at = with_value(space, q, *found.value);
  r.plan = at.plan;
  r.model.arch = at.arch;
  if (const std::string_view option = looked_for(q.of); !option.empty()) r.given.push_back(option);
  if (q.of == Largest::layers && at.arch.layers != space.arch.layers) {
    r.model.published = r.model.stored = std::nullopt;
    r.model.title =
        fmt::format("{} with {} layers", r.model.title.empty() ? r.model.name : r.model.title, *found.value);
  }
  return r;
}

void refuse_largest(const Request& r, const Space& space, const LargestQuestion& q, std::optional<Count> gpus) {
  throw InputError(fmt::format(
      "{1} does not fit on {0} under any plan, for any value of --largest {2}; use {3}", counted(space.gpus[0], "GPU"),
      r.model.name, name(q.of),
      gpus ? fmt::format("--gpus {}", *gpus) : "more GPUs: a search of a few seconds found no sufficient count"));
}

void add_largest(Report& report, const Space& space, const LargestQuestion& q, const LargestFound& found,
                 const Candidate* best) {
  report.inputs["largest"] = std::string(name(q.of));
  Grid answer{.key = "largest", .title = "", .columns = {}, .rows = {}};
  answer.json = {{"of", std::string(name(q.of))}, {"any", found.any}, {"stopped", found.stopped}};
  if (found.value) {
    answer.json["value"] = *found.value;
    report.verdict.insert(report.verdict.begin(), {"largest", largest_text(space, q, found)});
  }
  Grid g{.key = "tried", .title = "tried", .columns = {std::string(name(q.of)), "why"}, .left = 2, .rows = {}};
  for (const TriedValue& t : found.tried) {
    const std::string why = why_not_largest(space, q, t, found.value.value_or(0), best);
    g.rows.push_back({grouped_digits(fmt::format("{}", t.value)), why});
    g.json.push_back({{"value", t.value}, {"fits", t.plan.has_value()}, {"reasons", {why}}});
  }
  report.grids.insert(report.grids.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(1, report.grids.size())),
                      {std::move(answer), std::move(g)});
  if (q.of == Largest::layers) drop_commands(report);
}

}  // namespace llmcalc
