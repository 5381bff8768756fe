#include "report/diagnose/diagnosis_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ask/request/request.hpp"
#include "calc/memory.hpp"
#include "report/diagnose/diagnosis.hpp"
#include "report/diagnose/memory_prediction.hpp"
#include "report/diagnose/server_remedies.hpp"
#include "report/model/model_sections.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

Bytes sum_of(const MemoryBooking& b, MemoryTerm t) { return b.term(t).value_or(Bytes()); }

// ---- Out of memory

std::string asked_text(const OutOfMemory& o) {
  std::string s = signed_bytes(o.asked.bytes);
  if (o.gpu) s += fmt::format(" on GPU {}", *o.gpu);
  if (o.free)
    s += fmt::format("; {} of {} free", signed_bytes(o.free->bytes),
                     o.capacity ? signed_bytes(o.capacity->bytes) : "the device");
  if (o.free && o.free->bytes >= o.asked.bytes)
    s += o.allowed ? fmt::format(", and the process may use {}", signed_bytes(o.allowed->bytes))
                   : ": more than requested, so it was freed later or is fragmented";
  return s;
}

std::string lost_text(const OutOfMemory& o) {
  if (o.slack->bytes == Bytes()) return "none: all reserved memory is allocated";
  const std::string lost = signed_bytes(o.slack->bytes) + " reserved but unallocated";
  if (!o.reserved || o.reserved->bytes <= Bytes()) return lost;  // not in the log
  const double share = 100 * static_cast<double>(o.slack->bytes.value) / static_cast<double>(o.reserved->bytes.value);
  return fmt::format("{}, {:.1f} % of the reserved memory", lost, share);
}

std::string_view fewer_tensors(const MemoryLog& log, bool server) {
  if (!server)
    return "a smaller batch, shorter sequences, recomputation, or sharding of states and layers over more GPUs";
  return remedies_of(log.server.server).less;
}

/// Remedies, most reliable first.
std::vector<std::string> remedies(const OutOfMemory& o, const MemoryBooking& b, std::string_view fewer) {
  std::vector<std::string> all;
  const Bytes free = o.free ? o.free->bytes : Bytes(), slack = o.slack ? o.slack->bytes : Bytes();
  const Bytes others = sum_of(b, MemoryTerm::other_processes), asked = o.asked.bytes;
  if (others > Bytes())
    all.push_back(fmt::format("stop the other processes, which use {}{}", signed_bytes(others),
                              free + others >= asked ? ": sufficient" : ": not sufficient"));
  if (slack >= asked)
    all.push_back(o.variable + "=expandable_segments:True: unallocated memory exceeds the request");
  else if (free + slack >= asked && slack > Bytes())
    all.push_back(o.variable + "=expandable_segments:True: free and unallocated memory together are sufficient");
  if (o.allowed && free >= asked) all.push_back("a larger torch.cuda.set_per_process_memory_fraction");
  if (const Bytes missing = asked - std::min(asked, free + slack); missing > Bytes())
    all.push_back(fmt::format("at least {} less tensor memory: {}", signed_bytes(missing), fewer));
  if (all.empty()) all.emplace_back(fewer);
  return all;
}

std::string joined_remedies(const std::vector<std::string>& all) {
  std::string s;
  for (const std::string& one : all) s += (s.empty() ? "" : "; or ") + one;
  return s;
}

/// The cause if memory ran out before the weights were loaded and the model's weights exceed the device's memory.
Finding loading_finding(const BookedLog& booked) {
  const DiagnosisQuestion& q = booked.asked;
  const OutOfMemory& o = q.log.out_of_memory.messages[0];
  const std::optional<Bytes> device = o.capacity ? std::optional(o.capacity->bytes) : booked.defaults.capacity;
  const Bytes others = sum_of(booked.bookings[0], MemoryTerm::other_processes);
  const std::string helps =
      (others > Bytes() ? fmt::format("stop the other processes, which use {}; or ", signed_bytes(others)) : "") +
      std::string(remedies_of(q.log.server.server).loading);
  if (q.plan && device) {
    const Bytes weights = weights_bytes(q.plan->model.arch, q.plan->plan, q.plan->layout);
    if (weights > *device)
      return {"weights",
              fmt::format("weights alone need {} of {}: {}", signed_bytes(weights), signed_bytes(*device), helps),
              true};
  }
  return {"weights",
          fmt::format("memory ran out while {} was loading weights: {}", program(q.log.server.server).title, helps),
          true};
}

/// Whether the failing process is a server rather than a training run.
bool is_server_failure(const BookedLog& booked) {
  return booked.asked.log.is_of_server() && !(booked.asked.plan && booked.asked.plan->has(part::training));
}

void add_failure_verdict(std::vector<Finding>& v, const BookedLog& booked) {
  const OutOfMemory& o = booked.asked.log.out_of_memory.messages[0];
  const bool server = is_server_failure(booked);
  if (booked.asked.log.loading && server) v.push_back(loading_finding(booked));
  v.push_back({"requested", asked_text(o), true});
  if (o.slack) v.push_back({"fragmentation", lost_text(o)});
  if (booked.asked.log.loading && server) return;
  v.push_back({"helps", joined_remedies(remedies(o, booked.bookings[0], fewer_tensors(booked.asked.log, server)))});
}

// ---- An allocator table

void add_table_verdict(std::vector<Finding>& v, const BookedLog& booked) {
  const MemoryBooking& fullest = fullest_of(booked);
  const Bytes allocated = sum_of(fullest, MemoryTerm::allocated), slack = sum_of(fullest, MemoryTerm::slack);
  const std::string where =
      fullest.gpu && booked.bookings.size() > 1 ? fmt::format(" on GPU {}, the fullest", *fullest.gpu) : std::string();
  v.push_back({"peak", fmt::format("{} allocated{}", signed_bytes(allocated), where)});
  if (!fullest.term(MemoryTerm::slack)) return;
  v.push_back({"fragmentation", fmt::format("at most {}: peak reserved minus peak allocated", signed_bytes(slack))});
}

// ---- A server

std::string length_text(Count tokens) { return grouped_digits(fmt::format("{}", tokens)); }

/// The finding for a failed allocation: "no: 141.4 GiB for weights could not be allocated".
Finding failure_of(const ServerStart& s) {
  const ServerFailure& f = *s.failure;
  constexpr std::array<std::string_view, 4> parts{"weights", "the KV cache", "activations", "a buffer"};
  const ServerRemedies& of = remedies_of(s.server);
  const std::array<std::string_view, 4> helps{of.loading, of.cache, of.less, of.less};
  const auto part = static_cast<std::size_t>(f.part);
  return {"fits",
          fmt::format("no: {}{} could not be allocated: {}",
                      f.asked ? signed_bytes(f.asked->bytes) + " for " : "memory for ", parts[part], helps[part]),
          true};
}

/// Whether the longest request fits; absent if the log does not state it.
std::optional<Finding> fit_of(const ServerStart& s) {
  if (s.failure) return failure_of(s);
  const auto tokens = s.cache_tokens();
  const auto& longest = s.config.max_model_len;
  if (s.cache_needed) {
    std::string text = fmt::format("no: a request of {} tokens needs {}", longest ? length_text(*longest) : "all",
                                   signed_bytes(s.cache_needed->bytes));
    if (s.memory.kv_cache) text += fmt::format(", but the cache has {}", signed_bytes(s.memory.kv_cache->bytes));
    if (s.longest) text += fmt::format("; {} tokens would fit", length_text(*s.longest));
    return Finding{"fits", fmt::format("{}: {}", text, remedies_of(s.server).request), true};
  }
  if (s.memory.kv_cache && s.memory.kv_cache->bytes <= Bytes())
    return Finding{"fits",
                   fmt::format("no: even without a cache, {} is missing: {}",
                               signed_bytes(Bytes() - s.memory.kv_cache->bytes), remedies_of(s.server).cache),
                   true};
  if (!tokens || !longest) return std::nullopt;
  const double at_once = *concurrency_of(s);
  if (at_once < 1)
    return Finding{"fits",
                   fmt::format("no: the cache has {} tokens, but a request may have {}: {}", length_text(*tokens),
                               length_text(*longest), remedies_of(s.server).request),
                   true};
  return Finding{"fits", fmt::format("yes: {:.2f} requests of {} tokens at once", at_once, length_text(*longest))};
}

void add_server_verdict(std::vector<Finding>& v, const BookedLog& booked) {
  const ServerStart& s = booked.asked.log.server;
  if (const auto fit = fit_of(s)) v.push_back(*fit);
  if (const auto tokens = s.cache_tokens()) {
    std::string text = length_text(*tokens) + " tokens";
    if (s.memory.kv_cache) text += " in " + signed_bytes(s.memory.kv_cache->bytes);
    v.push_back({"cache", text});
  }
  if (v.empty() && s.memory.weights) v.push_back({"weights", signed_bytes(s.memory.weights->bytes)});
}

// ---- Training

void add_training_verdict(std::vector<Finding>& v, const BookedLog& booked) {
  const TrainingMemory& t = booked.asked.log.training;
  const RankMemory& r = t.fullest();
  std::string text;
  if (r.peak_allocated) text = signed_bytes(r.peak_allocated->bytes) + " allocated";
  if (r.peak_reserved) text += (text.empty() ? "" : ", ") + signed_bytes(r.peak_reserved->bytes) + " reserved";
  if (r.rank) text += fmt::format(" on rank {}", *r.rank);
  if (t.ranks.size() > 1) text += fmt::format(", the fullest of {} in the log", t.ranks.size());
  v.push_back({"peak", text, true});
  if (t.retries > 0)
    v.push_back(
        {"retries",
         fmt::format("{} of allocations: the allocator freed its cache, so the device is at its limit", t.retries)});
}

// ---- Comparison with a prediction

/// A percentage with its sign: "-0.2 %", "0.0 %".
std::string error_text(double percent) {
  return std::fabs(percent) < 0.05 ? "0.0 %" : fmt::format("{:+.1f} %", percent);
}

/// The errors of the predicted terms: "compared with the log: weights -0.2 %, KV cache +0.1 %".
std::string errors_text(const BookedLog& booked) {
  std::string s;
  for (const PredictedShare& p : booked.predicted) {
    const auto said = booked.bookings[0].term(p.of);
    if (p.key != name(p.of)) continue;  // the term includes more than the prediction
    if (!said || p.bytes <= Bytes() || *said <= Bytes()) continue;
    const double error = 100 * (static_cast<double>(p.bytes.value) / static_cast<double>(said->value) - 1);
    s += fmt::format("{}{} {}", s.empty() ? "compared with the log: " : ", ", p.label, error_text(error));
  }
  return s;
}

std::string allocated_text(Bytes said, Bytes predicted) {
  const Bytes left = said - predicted;
  if (left >= Bytes())
    return fmt::format("{} of {} allocated; {} unexplained", signed_bytes(predicted), signed_bytes(said),
                       signed_bytes(left));
  return fmt::format("a peak of {}, {} more than allocated", signed_bytes(predicted), signed_bytes(Bytes() - left));
}

void add_prediction_verdict(std::vector<Finding>& v, const BookedLog& booked) {
  if (booked.predicted.empty()) return;
  if (booked.asked.log.kind == MemoryLogKind::server) {
    if (const std::string errors = errors_text(booked); !errors.empty()) v.push_back({"predicted", errors});
    return;
  }
  const auto said = fullest_of(booked).term(MemoryTerm::allocated);
  const auto predicted = predicted_for(booked.predicted, MemoryTerm::allocated);
  if (said && predicted) v.push_back({"predicted", allocated_text(*said, *predicted)});
}

/// Adds the unexplained remainder of the fullest device, if it exceeds the rounding error.
void add_unexplained(std::vector<Finding>& v, const BookedLog& booked) {
  const MemoryBooking& b = fullest_of(booked);
  const Bytes left = sum_of(b, MemoryTerm::unexplained);
  if (left <= b.rounding && left >= Bytes() - b.rounding) return;
  v.push_back({"unexplained", fmt::format("{}, more than the rounding error of the log", signed_bytes(left))});
}

// ---- Notes

void add_failure_notes(Notes& notes, const BookedLog& booked) {
  const OutOfMemoryLog& log = booked.asked.log.out_of_memory;
  const OutOfMemory& o = log.messages[0];
  if (log.repeats > 0)
    notes.push_back(
        {"later_failures_ignored",
         fmt::format("{} for the same GPUs: only the first is used, because later failures may follow from it",
                     counted(log.repeats, "more message"))});
  if (const DeviceProcess* own = own_process(o); own != nullptr && own->pid)
    notes.push_back(
        {"failing_process_assumed",
         fmt::format("process {} is assumed to be the failing one: only its memory covers the PyTorch reservation "
                     "(process IDs differ inside containers)",
                     *own->pid)});
  if (booked.bookings[0].term(MemoryTerm::outside))
    notes.push_back(
        {"memory_outside_of_pytorch",
         "memory outside of PyTorch includes the context, libraries and other processes: the message does not separate "
         "them"});
  if (booked.predicted.empty()) return;
  const auto predicted = predicted_for(booked.predicted, MemoryTerm::allocated);
  if (o.allocated && predicted && *predicted > o.allocated->bytes)
    notes.push_back(
        {"peak_not_reached",
         std::string("a process that ran out of memory had not reached its peak") +
             (is_server_failure(booked) ? "" : "; in the first step, optimizer states are not yet allocated")});
  if (o.private_pools)
    notes.push_back({"graph_pools_included", "allocated memory includes tensors in CUDA graph pools"});
}

/// Source of the number of tokens per pass, as a suffix.
std::string pass_said(const Request& r, const ServerStart& s) {
  if (s.config.batched_tokens) return " (from the log)";
  return r.gave("--prompt") ? " (from --prompt)" : fmt::format(" ({} default)", program(s.server).title);
}

void add_server_notes(Notes& notes, const BookedLog& booked) {
  const DiagnosisQuestion& q = booked.asked;
  const ServerStart& s = q.log.server;
  if (s.workers > 1)
    notes.push_back({"first_worker_only", fmt::format("{} report their memory; only the first is attributed",
                                                      is_llama(s.server) ? counted(s.workers, "device")
                                                                         : fmt::format("{} processes", s.workers))});
  if (s.estimated)
    notes.push_back({"terms_before_loading", "the log has no buffers: the terms are Ollama's estimate before loading"});
  if (!s.memory.total && q.hardware && booked.bookings[0].whole == BookedWhole::capacity)
    notes.push_back({"device_memory_assumed",
                     fmt::format("the log does not contain the device memory: taken from {}", title(*q.hardware))});
  if (!s.config.utilization && !s.memory.granted && booked.defaults.utilization)
    notes.push_back(
        {"utilization_assumed", fmt::format("the log does not contain the memory utilization of vLLM: {:g} is assumed",
                                            *booked.defaults.utilization)});
  if (!s.tokens && s.blocks && !s.config.block_size && !s.concurrency)
    notes.push_back(
        {"block_size_assumed", "the log does not contain the block size: 16 tokens are assumed, the vLLM default"});
  if (!q.plan) return;
  if (has_bounded_cache(*q.plan))
    notes.push_back(
        {"bounded_cache",
         s.concurrency && s.config.max_model_len
             ? "the cache of some layers does not grow with the sequence: the prediction is the cache of the "
               "logged \"Maximum concurrency\", not of the logged tokens"
             : "the cache of some layers does not grow with the sequence; the prediction assumes that every "
               "layer's cache grows"});
  if (const Bytes padding = server_padding(*q.plan, s); padding > Bytes())
    notes.push_back(
        {"expert_padding", fmt::format("the predicted weights include {} of expert padding, required by kernels",
                                       signed_bytes(padding))});
  if (!predicted_for(booked.predicted, MemoryTerm::activations) && s.server != LoggedServer::vllm) return;
  const EngineLimits limits = server_limits(*q.plan, s);
  notes.push_back(
      {"predicted_pass",
       fmt::format("activations are predicted for passes of {} tokens{} and {} sequences{}", limits.pass_tokens,
                   pass_said(*q.plan, s), limits.sequences,
                   s.config.sequences ? " (from the log)" : fmt::format(" ({} default)", program(s.server).title))});
}

/// Adds a note if the device of --hardware differs from the device in the log.
void add_hardware_note(Notes& notes, const BookedLog& booked) {
  const DiagnosisQuestion& q = booked.asked;
  if (!q.hardware || q.log.kind == MemoryLogKind::summary) return;
  const auto& said = q.log.kind == MemoryLogKind::server     ? q.log.server.memory.total
                     : q.log.kind == MemoryLogKind::training ? q.log.training.capacity
                                                             : q.log.out_of_memory.messages[0].capacity;
  if (!said) return;
  const double ratio =
      static_cast<double>(said->bytes.value) / static_cast<double>(q.hardware->cluster.device.memory.value);
  constexpr double alike = 0.1;
  if (std::fabs(ratio - 1) > alike)
    notes.push_back(
        {"other_device_in_log",
         fmt::format("the device in the log has {}, but {} has {}: set another with --hardware",
                     signed_bytes(said->bytes), title(*q.hardware), signed_bytes(q.hardware->cluster.device.memory))});
}

}  // namespace

const MemoryBooking& fullest_of(const BookedLog& booked) {
  return *std::max_element(booked.bookings.begin(), booked.bookings.end(),
                           [](const MemoryBooking& a, const MemoryBooking& b) {
                             return sum_of(a, MemoryTerm::allocated) < sum_of(b, MemoryTerm::allocated);
                           });
}

std::vector<Finding> diagnosis_verdict(const BookedLog& booked) {
  std::vector<Finding> v;
  switch (booked.asked.log.kind) {
    case MemoryLogKind::server:
      add_server_verdict(v, booked);
      break;
    case MemoryLogKind::out_of_memory:
      add_failure_verdict(v, booked);
      break;
    case MemoryLogKind::summary:
      add_table_verdict(v, booked);
      break;
    case MemoryLogKind::training:
      add_training_verdict(v, booked);
      break;
  }
  add_prediction_verdict(v, booked);
  add_unexplained(v, booked);
  return v;
}

std::optional<Fit> diagnosed_fit(const BookedLog& booked) {
  constexpr Fit failed{FitVerdict::no, 0}, ran{FitVerdict::yes, 1};
  const MemoryLog& log = booked.asked.log;
  if (log.kind == MemoryLogKind::out_of_memory) return failed;
  if (log.kind != MemoryLogKind::server) return ran;
  const auto fit = fit_of(log.server);
  if (!fit) return std::nullopt;
  return fit->bad ? failed : ran;
}

Notes diagnosis_notes(const BookedLog& booked) {
  Notes notes = booked.asked.notes;
  if (booked.asked.log.kind == MemoryLogKind::out_of_memory) add_failure_notes(notes, booked);
  if (booked.asked.log.kind == MemoryLogKind::server) add_server_notes(notes, booked);
  if (booked.asked.log.kind == MemoryLogKind::summary && booked.asked.log.summary.repeats > 0)
    notes.push_back({"last_table_only", "with several tables for a device, only the last is used"});
  add_hardware_note(notes, booked);
  return notes;
}

}  // namespace llmcalc
