#include "report/serve/serving_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <set>

#include "report/trace/trace_text.hpp"

namespace llmcalc {
namespace {

constexpr Count requests_process = 1'000'000;  ///< process id of the requests, above the ids of all engines
constexpr Ticks ticks_per_nanosecond = 1'000'000'000;

std::int64_t whole_nanoseconds(Ticks t) { return static_cast<std::int64_t>(t / ticks_per_nanosecond); }

std::string_view pass_kind(const PassWork& w) {
  if (w.decoding == 0) return "prompts";
  return w.prompt_tokens == 0 ? "answers" : "prompts and answers";
}

std::string pass_name(const PassRecord& p) {
  const std::string_view kind = pass_kind(p.work);
  return p.passes == 1 ? std::string(kind) : fmt::format("{} x {}", p.passes, kind);
}

std::string pass_arguments(const PassRecord& p) {
  return fmt::format(R"({{"passes":{},"prompt_tokens":{},"decoding":{},"in_progress":{},"waiting":{},"blocks":{}}})",
                     p.passes, p.work.prompt_tokens, p.work.decoding, p.in_progress, p.waiting, p.blocks_used);
}

void put_pass(TraceText& text, const PassRecord& p) {
  const std::int64_t start = whole_nanoseconds(p.start), end = whole_nanoseconds(p.end);
  const Count engine = p.replica;
  text.event(pass_name(p), pass_kind(p.work), {engine, p.rank}, start, end - start, pass_arguments(p));
  text.counter(fmt::format("requests of rank {}", p.rank), engine, end,
               fmt::format(R"({{"in progress":{},"waiting":{}}})", p.in_progress, p.waiting));
  text.counter(fmt::format("KV blocks of rank {}", p.rank), engine, end,
               fmt::format(R"({{"used":{}}})", p.blocks_used));
}

/// Assigns each request the first free row; a row holds one request at a time.
class RequestRows {
 public:
  Count of(std::int64_t start, std::int64_t end) {
    while (!busy_.empty() && busy_.top().first <= start) {
      free_.insert(busy_.top().second);
      busy_.pop();
    }
    const Count row = free_.empty() ? rows_++ : *free_.begin();
    free_.erase(row);
    busy_.emplace(end, row);
    return row;
  }

 private:
  using Busy = std::pair<std::int64_t, Count>;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::set<Count> free_;
  Count rows_ = 0;
};

/// Answered requests, by arrival.
std::vector<std::size_t> answered_by_arrival(const AnswerList& answers) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (answers.last(i) != never) all.push_back(i);
  std::stable_sort(all.begin(), all.end(),
                   [&](std::size_t a, std::size_t b) { return answers.sent(a) < answers.sent(b); });
  return all;
}

void put_requests(TraceText& text, const AnswerList& answers) {
  RequestRows rows;
  for (const std::size_t i : answered_by_arrival(answers)) {
    const AnswerTimes a = answers[i];
    const std::int64_t sent = whole_nanoseconds(a.sent), first = whole_nanoseconds(a.first),
                       last = whole_nanoseconds(a.last);
    const TracePlace at{requests_process, rows.of(sent, last)};
    const std::string arguments = fmt::format(R"({{"request":{},"cached":{},"preemptions":{},"engine":{}}})", i + 1,
                                              a.cached, a.preemptions, a.replica + 1);
    text.event("wait", "request", at, sent, first - sent, arguments);
    if (last > first) text.event("answer", "request", at, first, last - first, arguments);
  }
}

}  // namespace

std::string serving_trace(const ServingRun& run) {
  TraceText text;
  std::set<std::pair<Count, Count>> places;
  for (const PassRecord& p : run.passes) {
    put_pass(text, p);
    places.emplace(p.replica, p.rank);
  }
  put_requests(text, run.run.answers);
  for (const auto& [engine, rank] : places) {
    text.metadata("process_name", {engine, 0}, "name", fmt::format("\"engine {}\"", engine + 1));
    text.metadata("thread_name", {engine, rank}, "name", fmt::format("\"rank {}\"", rank + 1));
  }
  text.metadata("process_name", {requests_process, 0}, "name", "\"requests\"");
  return std::move(text).whole();
}

}  // namespace llmcalc
