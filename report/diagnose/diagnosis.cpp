#include "report/diagnose/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/answer/conventions.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "report/diagnose/diagnosis_verdict.hpp"
#include "report/model/model_sections.hpp"
#include "report/question.hpp"
#include "report/train/stages.hpp"
#include "text/error.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

// ---- The table

constexpr const char* term_labels[] = {"weights",
                                       "weights and libraries",
                                       "KV cache",
                                       "activations, peak",
                                       "activations and libraries",
                                       "allocated by PyTorch",
                                       "draft model",
                                       "runtime buffers",
                                       "CUDA graphs",
                                       "reserved by PyTorch",
                                       "reserved, unallocated",
                                       "libraries, context",
                                       "other processes",
                                       "outside of PyTorch",
                                       "in use before startup",
                                       "libraries and free",
                                       "free",
                                       "not granted",
                                       "not in the log",
                                       "unexplained"};
static_assert(std::size(term_labels) == choices<MemoryTerm>.size());

std::string_view label_of(MemoryTerm t) { return term_labels[static_cast<std::size_t>(t)]; }

/// The lines of the memory table, as text and as JSON.
class BookingGrid {
 public:
  BookingGrid(const BookedLog& booked) : booked_(booked), with_prediction_(!booked.predicted.empty()) {
    g_.key = "booking";
    g_.title = "memory breakdown";
    g_.columns = {"", "log", "share"};
    if (with_prediction_) g_.columns.insert(g_.columns.end(), {"predicted", "log - predicted"});
  }

  Grid grid() && {
    for (const MemoryBooking& b : booked_.bookings) add(b);
    return std::move(g_);
  }

 private:
  void line(std::vector<std::string> cells) {
    cells.resize(g_.columns.size());
    g_.rows.push_back(std::move(cells));
  }

  static std::string heading(const MemoryBooking& b) {
    return b.gpu ? fmt::format("GPU {}", *b.gpu) : std::string("one GPU");
  }

  void add(const MemoryBooking& b) {
    if (booked_.bookings.size() > 1) line({heading(b)});
    const auto is_predictable = [](const BookedTerm& t) { return t.term < MemoryTerm::draft; };
    const auto others = std::find_if_not(b.terms.begin(), b.terms.end(), is_predictable);
    std::for_each(b.terms.begin(), others, [&](const BookedTerm& t) { add(b, t); });
    for (const PredictedShare& p : booked_.predicted)
      if (!b.term(p.of)) add_unsaid(b, p);
    std::for_each(others, b.terms.end(), [&](const BookedTerm& t) { add(b, t); });
    if (!b.terms.empty()) add_sum(b);
  }

  json::Value row_json(const MemoryBooking& b, std::string_view term) const {
    json::Value v = json::Value::object();
    if (b.gpu) v["gpu"] = *b.gpu;
    v["term"] = term;
    return v;
  }

  void add(const MemoryBooking& b, const BookedTerm& t) {
    const auto predicted = predicted_for(booked_.predicted, t.term);
    const double share = b.all == Bytes() ? 0 : real(t.bytes.value) / real(b.all.value);
    std::vector<std::string> cells{std::string(label_of(t.term)), signed_bytes(t.bytes),
                                   fmt::format("{:.1f} %", 100 * share)};
    json::Value v = row_json(b, name(t.term));
    v["bytes"] = t.bytes.value;
    v["derived"] = t.derived;
    if (predicted) {
      cells.insert(cells.end(), {signed_bytes(*predicted), signed_bytes(t.bytes - *predicted, true)});
      v["predicted_bytes"] = predicted->value;
      v["difference_bytes"] = (t.bytes - *predicted).value;
    }
    line(std::move(cells));
    g_.json.push_back(std::move(v));
    if (predicted && t.term == MemoryTerm::allocated) divide(b, t.bytes - *predicted);
  }

  /// Splits allocated memory into the predicted parts and a remainder.
  void divide(const MemoryBooking& b, Bytes left) {
    for (const PredictedShare& p : booked_.predicted) {
      if (p.of != MemoryTerm::allocated) continue;
      line({"  " + std::string(p.label), "", "", signed_bytes(p.bytes)});
      json::Value v = row_json(b, p.key);
      v["part_of"] = name(p.of);
      v["predicted_bytes"] = p.bytes.value;
      g_.json.push_back(std::move(v));
    }
    line({"  unexplained", signed_bytes(left)});
    json::Value v = row_json(b, name(MemoryTerm::unexplained));
    v["part_of"] = name(MemoryTerm::allocated);
    v["bytes"] = left.value;
    v["derived"] = true;
    g_.json.push_back(std::move(v));
  }

  /// Adds a term that the log lacks.
  void add_unsaid(const MemoryBooking& b, const PredictedShare& p) {
    line({std::string(label_of(p.of)), "not in the log", "", signed_bytes(p.bytes)});
    json::Value v = row_json(b, name(p.of));
    v["predicted_bytes"] = p.bytes.value;
    g_.json.push_back(std::move(v));
  }

  void add_sum(const MemoryBooking& b) {
    constexpr std::array labels{"capacity", "granted", "sum of logged terms", "free before startup"};
    line({labels[static_cast<std::size_t>(b.whole)], signed_bytes(b.all), "100.0 %"});
    json::Value v = row_json(b, name(b.whole));
    v["bytes"] = b.all.value;
    v["sum"] = true;
    g_.json.push_back(std::move(v));
  }

  const BookedLog& booked_;
  bool with_prediction_;
  Grid g_;
};

// ---- Sections

void add_bytes(Section& s, const char* key, const std::optional<LoggedBytes>& said) {
  if (said) s.add(key, "", said->bytes);
}

void add_server(Section& s, const ServerStart& v) {
  if (!v.config.version.empty()) s.add("version", std::string(program(v.server).title), v.config.version);
  if (!v.config.model.empty()) s.add("model", "model", v.config.model);
  if (v.config.utilization) s.add("memory_utilization", "memory utilization", *v.config.utilization, Unit::ratio);
  if (const auto n = v.cache_tokens()) s.add("cache_tokens", "cache tokens", *n, Unit::tokens);
  if (const auto n = logged_bytes_per_token(v)) s.add("cache_bytes_per_token", "bytes per token", *n, Unit::bytes);
  if (v.config.max_model_len) s.add("max_model_tokens", "longest request", *v.config.max_model_len, Unit::tokens);
  if (const auto n = concurrency_of(v)) s.add("concurrency", "concurrent requests", *n);
  if (v.cache_needed) s.add("cache_needed_bytes", "cache per request", v.cache_needed->bytes);
  if (v.memory.host) s.add("host_buffers_bytes", "host buffers", v.memory.host->bytes);
  if (v.longest) s.add("longest_fitting_tokens", "longest that fits", *v.longest, Unit::tokens);
}

void add_failure(Section& s, const OutOfMemory& o) {
  if (o.gpu) s.add("gpu", "", *o.gpu);
  s.add("asked_bytes", "", o.asked.bytes);
  add_bytes(s, "free_bytes", o.free);
  add_bytes(s, "capacity_bytes", o.capacity);
  add_bytes(s, "allocated_bytes", o.allocated);
  add_bytes(s, "reserved_bytes", o.reserved);
  add_bytes(s, "slack_bytes", o.slack);
  add_bytes(s, "private_pools_bytes", o.private_pools);
  add_bytes(s, "allowed_bytes", o.allowed);
  if (o.free) s.add("missing_bytes", "", std::max(Bytes(), o.asked.bytes - o.free->bytes));
}

void add_table(Section& s, const MemorySummary& t) {
  const auto add = [&](const char* key, const char* label, const std::optional<UsageNow>& usage) {
    if (!usage) return;
    s.add(fmt::format("current_{}_bytes", key), label, usage->current.bytes);
    s.add(fmt::format("peak_{}_bytes", key), "", usage->peak.bytes, "at the peak");
  };
  add("allocated", "allocated now", t.allocated);
  add("active", "active now", t.active);
  add("requested", "requested now", t.requested);
  add("reserved", "reserved now", t.reserved);
  add("non_releasable", "not releasable now", t.non_releasable);
  if (t.failures) s.add("failures", "failed requests", *t.failures);
}

void add_training(Section& s, const TrainingMemory& t) {
  const RankMemory& r = t.fullest();
  if (!t.version.empty()) s.add("version", t.title, t.version);
  if (r.rank) s.add("rank", "rank", *r.rank);
  s.add("ranks", "ranks in the log", static_cast<Count>(t.ranks.size()));
  s.add("reports", "reports", t.reports);
  add_bytes(s, "current_allocated_bytes", r.allocated);
  add_bytes(s, "current_reserved_bytes", r.reserved);
  add_bytes(s, "peak_allocated_bytes", r.peak_allocated);
  add_bytes(s, "peak_reserved_bytes", r.peak_reserved);
  if (t.weights_and_optimizer)
    s.add("theoretical_weights_and_optimizer_bytes", "weights, optimizer", t.weights_and_optimizer->bytes,
          "by Megatron's formula");
  if (t.activations)
    s.add("theoretical_activations_bytes", "activations", t.activations->bytes, "by Megatron's formula");
  if (t.retries > 0) s.add("retries", "allocation retries", t.retries);
}

/// The software that wrote the log: a server's engine, or the training software.
void add_software(Section& s, const MemoryLog& log) {
  if (log.is_of_server())
    s.add("software", "", std::string(program(log.server.server).engine));
  else if (log.kind == MemoryLogKind::training)
    s.add("software", "", log.training.software);
  if (log.kind == MemoryLogKind::out_of_memory && log.is_of_server() && !log.server.config.version.empty())
    s.add("version", "", log.server.config.version);
}

std::string title_of(const MemoryBooking& b, std::size_t devices) {
  if (devices == 1 || !b.gpu) return "logged values";
  return fmt::format("logged values of GPU {}", *b.gpu);
}

Section said_section(const BookedLog& booked) {
  const MemoryLog& log = booked.asked.log;
  Section s{"diagnosis", title_of(booked.bookings[0], booked.bookings.size()), {}};
  s.add("kind", "", std::string(log.kind_name()));
  add_software(s, log);
  if (log.kind == MemoryLogKind::server) add_server(s, log.server);
  if (log.kind == MemoryLogKind::out_of_memory) add_failure(s, log.out_of_memory.messages[0]);
  if (log.kind == MemoryLogKind::summary) add_table(s, log.summary.devices[0]);
  if (log.kind == MemoryLogKind::training) add_training(s, log.training);
  return s;
}

// ---- Title, defaults and report

std::string title_of(const DiagnosisQuestion& q) {
  const std::string server = fmt::format("{} server startup", program(q.log.server.server).title);
  const std::string training = fmt::format("memory of {} training", q.log.training.title);
  const std::array<std::string_view, 4> what{server, "out of memory", "allocator table", training};
  std::string s = fmt::format("{}: {}", q.log.file, what[static_cast<std::size_t>(q.log.kind)]);
  if (q.plan) s += fmt::format(", compared with the prediction for {}", title(q.plan->model));
  return s;
}

BookingDefaults defaults_of(const DiagnosisQuestion& q) {
  BookingDefaults d{.pools_apart = !q.plan || q.log.kind == MemoryLogKind::server};
  if (q.hardware) d.capacity = q.hardware->cluster.device.memory;
  if (q.plan && q.plan->gave("--memory-utilization")) d.utilization = q.plan->plan.memory_utilization;
  if (q.log.training.capacity) d.capacity = q.log.training.capacity->bytes;
  constexpr double of_vllm = 0.9;  // vLLM's default until v0.19 (vllm/config/cache.py)
  const bool vllm = q.log.kind == MemoryLogKind::server && q.log.server.server == LoggedServer::vllm;
  if (vllm && d.capacity && !d.utilization) d.utilization = of_vllm;
  return d;
}

/// Throws InputError if the log reports more memory than the device of --hardware has.
void check_capacity(const DiagnosisQuestion& q, const std::vector<MemoryBooking>& bookings) {
  if (!q.hardware) return;
  for (const MemoryBooking& b : bookings) {
    Bytes said;
    for (const BookedTerm& t : b.terms)
      if (!t.derived || t.term == MemoryTerm::slack) said += t.bytes;
    if (b.whole == BookedWhole::capacity && said > b.all + b.rounding)
      throw InputError(
          fmt::format("{}: the log shows {} on a device, but {} has {}; specify the device of the log with --hardware",
                      q.log.file, signed_bytes(said), title(*q.hardware), signed_bytes(b.all)));
  }
}

void add_plan(Report& report, const Request& r) {
  report.model = model_json(r.model);
  const json::Value of_plan = inputs_json(r);
  report.inputs.update(of_plan);
  if (!r.has(part::training)) return;
  report.layout = layout_json(r);
  add_stages(TrainingAnswer(r), report);
}

}  // namespace

std::string signed_bytes(Bytes bytes, bool plus) {
  const Count n = bytes.value;
  return (n < 0 ? "-" : plus && n > 0 ? "+" : "") + human_text(Quantity(n < 0 ? -n : n), Unit::bytes);
}

std::optional<double> concurrency_of(const ServerStart& s) {
  if (s.concurrency) return s.concurrency;
  const auto tokens = s.cache_tokens();
  if (!tokens || !s.config.max_model_len || *s.config.max_model_len == 0) return std::nullopt;
  return real(*tokens) / real(*s.config.max_model_len);
}

std::optional<double> logged_bytes_per_token(const ServerStart& s) {
  const auto tokens = s.cache_tokens();
  if (!tokens || *tokens == 0 || !s.memory.kv_cache || s.memory.kv_cache->bytes <= Bytes()) return std::nullopt;
  return real(s.memory.kv_cache->bytes.value) / real(*tokens);
}

Report diagnosis(const DiagnosisQuestion& q) {
  BookedLog booked{.asked = q, .defaults = defaults_of(q)};
  booked.bookings = book(q.log, booked.defaults);
  check_capacity(q, booked.bookings);
  if (q.plan) booked.predicted = predicted_memory(*q.plan, q.log, booked.bookings[0]);
  Report report;
  report.command = "diagnose";
  report.title = title_of(q);
  report.inputs = {{"log", q.log.file}};
  if (q.hardware) report.hardware = hardware_json(*q.hardware);
  report.conventions = {{"sum", "the terms of a device add up to the total in its last line"},
                        {"difference", "log - predicted"}};
  report.fit = diagnosed_fit(booked);
  report.verdict = diagnosis_verdict(booked);
  report.sections = {said_section(booked)};
  report.grids.push_back(BookingGrid(booked).grid());
  if (q.plan) add_plan(report, *q.plan);
  report.notes = diagnosis_notes(booked);
  return report;
}

}  // namespace llmcalc
