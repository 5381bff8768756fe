#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "ask/answer/serving/offer.hpp"
#include "ask/answer/serving/plan.hpp"
#include "ask/answer/serving/request_log.hpp"
#include "ask/answer/serving/settle.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/check/serving.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "presets/load.hpp"
#include "report/commands/plan.hpp"
#include "report/commands/questions.hpp"
#include "report/commands/shares.hpp"
#include "report/plan/plan_goals.hpp"
#include "report/plan/plan_rivals.hpp"
#include "report/plan/serving_plan_report.hpp"
#include "report/report.hpp"
#include "text/elapsed.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

/// The layouts on one kind of device. If the device cannot run the request, `layouts` is empty, and `why` is the
/// reason.
struct Hardware {
  std::string name;
  std::vector<Request> layouts{};
  std::string why{};
};

Request served_request(const Arguments& arguments) {
  Request r;
  r.model = arguments.model();
  arguments.apply(r, plan_serve_parts);
  check(r);
  settle_serving(r);
  check_serving(r);
  if (!r.serving.slo_first_token && !r.serving.slo_per_token)
    throw InputError("'llmcalc plan serve' needs limits: --slo-ttft TIME, --slo-tpot TIME or both");
  return r;
}

/// Reads the names of --hardware. If there are several, omits hardware that cannot run the request.
std::vector<Hardware> hardware_of(const Arguments& arguments, const std::vector<std::string>& names) {
  if (names.empty()) {
    const Request r = served_request(arguments);
    return {{r.hardware->name, serving_layouts(r)}};
  }
  std::vector<Hardware> all;
  for (const std::string& name : names) {
    Hardware h{.name = load_hardware(name).name};
    try {
      h.layouts = serving_layouts(served_request(arguments.with("--hardware", name)));
    } catch (const InputError& e) {
      h.why = e.what();
    }
    all.push_back(std::move(h));
  }
  return all;
}

void show_share(Runner& runner, const char* what, const Elapsed& since, double done) {
  runner.show(fmt::format("{}: {:.0f} %{}", what, 100 * done, left_text(since.seconds(), done)));
}

/// Whether published runs used the device and software of some layouts, with which all others compete.
bool has_known(const std::vector<Request>& layouts) {
  return std::any_of(layouts.begin(), layouts.end(), [](const Request& r) { return caution_of(r) == 1; });
}

/// The offers of all layouts, computed in parallel.
std::vector<ServingOffer> offers_of(const std::vector<Request>& layouts, Runner& runner) {
  runner.show("searching");
  std::atomic<std::size_t> done = 0;
  const Elapsed since;
  const bool cautious = has_known(layouts);
  return spread(runner, std::span<const Request>(layouts), [&](const Request& r) {
    ServingOffer offer = runner.stopped() ? ServingOffer{.request = r, .why = "stopped"}
                                          : serving_offer(r, cautious ? caution_of(r) : 1);
    show_share(runner, "evaluating layouts", since, static_cast<double>(++done) / static_cast<double>(layouts.size()));
    return offer;
  });
}

/// Number of failed requests of the log. Throws InputError for a log that cannot be read, before the search.
Count failed_requests(const Request& r) {
  return r.serving.log.empty() ? 0 : read_request_log_file(r.serving.log).failed;
}

/// Callbacks that let settle_offers() run on the runner's threads.
Settling settling_on(Runner& runner, const Elapsed& since) {
  return {.goes_on = [&] { return !runner.stopped(); },
          .each =
              [&](std::size_t n, const std::function<void(std::size_t)>& work) {
                std::atomic<std::size_t> next = 0;
                runner.each(std::min(n, runner.width()), [&](std::size_t) {
                  for (std::size_t i = next++; i < n; i = next++) work(i);
                });
              },
          .progress = [&](double done) { show_share(runner, "simulating servers", since, done); }};
}

}  // namespace

Output plan_serve(const Arguments& arguments, Runner& runner) {
  const std::vector<std::string> names = hardware_names(arguments.text("--hardware"));
  std::vector<Request> layouts;
  std::vector<LeftOut> left_out;
  for (const Hardware& h : hardware_of(arguments, names)) {
    layouts.insert(layouts.end(), h.layouts.begin(), h.layouts.end());
    if (!h.why.empty()) left_out.push_back({h.name, h.why});
  }
  if (layouts.empty()) throw InputError(left_out.front().why);
  const Count failed = failed_requests(layouts.front());
  std::vector<ServingOffer> offers = offers_of(layouts, runner);
  const Count top = std::min<Count>(parse_positive(arguments.text("--top", "10"), "--top"), 1000);
  const Elapsed since;
  runner.show("simulating servers");
  const auto shown = settle_offers(offers, static_cast<std::size_t>(top), settling_on(runner, since));
  const bool stopped = runner.stopped();
  if (stopped && shown.empty()) return {.content = {}, .stopped = true};
  return {.content = serving_plan_report(
              layouts.front(), offers, shown, left_out,
              {.several = !names.empty(), .failed = failed, .stopped = stopped, .whole = arguments.in_json()}),
          .stopped = stopped};
}

}  // namespace llmcalc
