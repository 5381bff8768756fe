#include "ask/request/check/serving.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "calc/parameters.hpp"
#include "presets/load.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

void check_who_asks(const ServingInputs& v) {
  const int said = int{v.rate.has_value()} + int{v.users.has_value()} + int{!v.log.empty()};
  if (said == 0)
    throw InputError("a server requires traffic: set --rate R (requests per second), --users N or --requests FILE");
  if (said > 1)
    throw InputError(fmt::format("{} are mutually exclusive; set one of --rate, --users and --requests",
                                 v.log.empty() ? "--rate and --users"
                                 : v.rate      ? "--rate and --requests"
                                               : "--users and --requests"));
}

/// Rejects options for drawn traffic if there is a log, which already contains all requests.
void check_log_alone(const Request& r) {
  if (r.serving.log.empty()) return;
  for (const char* option : {"--prompt", "--generate", "--arrivals", "--lengths", "--turns", "--shared-prefix",
                             "--num-requests", "--duration", "--seed", "--think-time"})
    if (r.gave(option))
      throw InputError(
          fmt::format("{} applies to generated requests, but --requests specifies each request; omit one", option));
}

void check_traffic(const Request& r) {
  const ServingInputs& v = r.serving;
  check_who_asks(v);
  check_log_alone(r);
  if (v.requests && v.duration)
    throw InputError("--num-requests and --duration both set the length of the run; set one of them");
  if (!v.users && v.turns == 1 && r.gave("--think-time"))
    throw InputError("--think-time has no effect without --users or --turns; add one of them");
  if (v.users && v.turns > 1)
    throw InputError(
        "--turns applies to sessions that start at a --rate; --users already send successive requests; omit it");
  if (!v.lengths.empty() && (r.gave("--prompt") || r.gave("--generate")))
    throw InputError("--lengths FILE already sets the lengths; omit --prompt and --generate");
  if (v.admission == Admission::priority && v.log.empty())
    throw InputError(
        "--policy priority has no effect without different priorities; pass --requests FILE with a \"priority\" for "
        "each request, or omit it");
  if (r.gave("--percentile") && !v.slo_first_token && !v.slo_per_token)
    throw InputError("--percentile has no effect without --slo-ttft or --slo-tpot; add one, or omit --percentile");
}

void check_lengths(const Request& r) {
  const ServingInputs& v = r.serving;
  const Count all = usual_tokens(r), context = r.model.arch.context;
  if (all <= context) return;
  if (v.turns > 1 || v.shared_prefix > 0)
    throw InputError(
        fmt::format("--shared-prefix {} and {} turns of --prompt {} and --generate {} add up to {} tokens and exceed "
                    "the context of {}, {}; shorten them",
                    v.shared_prefix, v.turns, r.plan.prompt, r.plan.generate, all, r.model.name, context));
  throw InputError(
      fmt::format("--prompt {} and --generate {} together exceed the context of {}, {} tokens; shorten them",
                  r.plan.prompt, r.plan.generate, r.model.name, context));
}

/// Each MTP module must draft at least one token, and there must be no draft model.
void check_modules_draft(const Request& r) {
  const Count modules = r.plan.mtp;
  if (modules == 0) return;
  if (!r.serving.draft_model.empty()) throw InputError("--mtp and --draft-model are mutually exclusive; omit one");
  if (modules > r.serving.draft_tokens)
    throw InputError(fmt::format(
        "--mtp {} drafts at least one token per module; set --draft-tokens {} or more, or use fewer modules", modules,
        modules));
}

void check_drafts(const Request& r) {
  const ServingInputs& v = r.serving;
  check_modules_draft(r);
  if (v.draft_tokens == 0) return;
  if (v.acceptance.empty())
    throw InputError(
        "--draft-tokens requires --acceptance X,X,...: the acceptance probability of a draft token at each position");
  if (static_cast<Count>(v.acceptance.size()) > v.draft_tokens)
    throw InputError(
        fmt::format("--acceptance has {} values for the {} of --draft-tokens; specify at most one per draft, the last "
                    "applies to all later drafts",
                    v.acceptance.size(), counted(v.draft_tokens, "draft")));
  if (v.draft_model.empty()) return;
  const ModelCard draft = load_model(v.draft_model);
  const Count small = parameters(draft.arch).total, large = parameters(r.model.arch).total;
  if (small >= large)
    throw InputError(
        fmt::format("--draft-model {} has {} parameters and {} has {}; choose a draft model smaller than its target",
                    draft.name, small, r.model.name, large));
}

void check_served_adapters(const Request& r) {
  const Count rank = r.serving.adapters.rank, hidden = r.model.arch.hidden;
  if (rank > hidden)
    throw InputError(fmt::format("--adapters rank {} exceeds the hidden size of {}, {}; use a lower rank", rank,
                                 r.model.name, hidden));
}

void check_engines(const Request& r) {
  const ServingInputs& v = r.serving;
  if (v.pools && r.gave("--replicas"))
    throw InputError("--pools already sets the number of engines of each kind; omit --replicas");
  if (v.pools && r.gave("--batching") && v.batching != Batching::continuous)
    throw InputError(fmt::format("--pools requires --batching continuous, not {}", name(v.batching)));
  if (v.pools && link_between_engines(r).bandwidth.value <= 0)
    throw InputError(
        fmt::format("--pools {}P{}D: {} defines no link that connects {} devices, which KV cache transfers require",
                    v.pools->prefill, v.pools->decode, r.hardware->name, serving_gpus(r)));
  if (v.preemption == Preemption::swap && r.hardware->cluster.device.host.link.value <= 0)
    throw InputError(fmt::format("--preemption swap requires a host link, which {} does not define; use recompute",
                                 r.hardware->name));
  if (v.pass_tokens && *v.pass_tokens <= v.draft_tokens)
    throw InputError(fmt::format("--max-batched-tokens {} is too low for a token and {} drafts; raise it",
                                 *v.pass_tokens, v.draft_tokens));
}

/// Checks the number of requests before they are drawn, because drawing them uses memory.
void check_number_of_requests(const Request& r) {
  const ServingInputs& v = r.serving;
  if (v.requests && *v.requests > most_requests)
    throw InputError(fmt::format("--num-requests {} exceeds the maximum of {} simulated requests; lower it",
                                 *v.requests, most_requests));
  if (v.duration && v.rate && v.duration->value * *v.rate > real(most_requests))
    throw InputError(
        fmt::format("--duration at --rate {:g} results in {:.3g} requests, more than the maximum of {} simulated "
                    "requests; shorten it",
                    *v.rate, v.duration->value * *v.rate, most_requests));
}

}  // namespace

void check_serving(const Request& r) {
  check_traffic(r);
  check_number_of_requests(r);
  check_lengths(r);
  check_drafts(r);
  check_served_adapters(r);
  check_engines(r);
}

}  // namespace llmcalc
