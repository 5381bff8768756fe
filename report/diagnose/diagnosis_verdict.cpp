#include "report/diagnose/diagnosis_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ask/request/request.hpp"
#include "calc/memory.hpp"
#include "report/diagnose/diagnosis.hpp"
#include "report/diagnose/memory_prediction.hpp"
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
                     o.capacity ? signed_bytes(o.capacity->bytes) : "it");
  if (o.free && o.free->bytes >= o.asked.bytes)
    s += o.allowed ? fmt::format(", and {} are allowed to the process", signed_bytes(o.allowed->bytes))
                   : ": more than was asked for, so that it was freed since, or is in pieces";
  return s;
}

std::string lost_text(const OutOfMemory& o) {
  if (o.slack->bytes == Bytes()) return "nothing to fragmentation: all that is reserved is allocated";
  const std::string lost = signed_bytes(o.slack->bytes) + " to fragmentation: reserved but unallocated";
  if (!o.reserved || o.reserved->bytes <= Bytes()) return lost;  // not in the log
  const double share = 100 * static_cast<double>(o.slack->bytes.value) / static_cast<double>(o.reserved->bytes.value);
  return fmt::format("{}, {:.1f} % of what is reserved", lost, share);
}

const char* fewer_tensors(bool server) {
  return server ? "a lower --gpu-memory-utilization, --max-num-batched-tokens or --max-num-seqs, or more GPUs"
                : "a smaller batch, shorter sequences, recomputation, or states and layers over more GPUs";
}

/// Remedies, most reliable first.
std::vector<std::string> remedies(const OutOfMemory& o, const MemoryBooking& b, bool server) {
  std::vector<std::string> all;
  const Bytes free = o.free ? o.free->bytes : Bytes(), slack = o.slack ? o.slack->bytes : Bytes();
  const Bytes others = sum_of(b, MemoryTerm::other_processes), asked = o.asked.bytes;
  if (others > Bytes())
    all.push_back(fmt::format("end the other processes, which hold {}{}", signed_bytes(others),
                              free + others >= asked ? ": enough" : ": not enough alone"));
  if (slack >= asked)
    all.push_back(o.variable + "=expandable_segments:True: more is unallocated than was asked for");
  else if (free + slack >= asked && slack > Bytes())
    all.push_back(o.variable + "=expandable_segments:True: free and unallocated together would do");
  if (o.allowed && free >= asked) all.push_back("a larger torch.cuda.set_per_process_memory_fraction");
  if (const Bytes missing = asked - std::min(asked, free + slack); missing > Bytes())
    all.push_back(fmt::format("{} less of tensors, at least: {}", signed_bytes(missing), fewer_tensors(server)));
  if (all.empty()) all.push_back(fewer_tensors(server));
  return all;
}

std::string joined_remedies(const std::vector<std::string>& all) {
  std::string s;
  for (const std::string& one : all) s += (s.empty() ? "" : "; or ") + one;
  return s;
}

void add_failure_verdict(std::vector<Finding>& v, const BookedLog& booked) {
  const OutOfMemory& o = booked.asked.log.out_of_memory.messages[0];
  v.push_back({"asked", asked_text(o), true});
  if (o.slack) v.push_back({"lost", lost_text(o)});
  v.push_back({"helps", joined_remedies(remedies(o, booked.bookings[0], booked.asked.log.vllm.says_memory()))});
}

// ---- A table of the allocator

void add_table_verdict(std::vector<Finding>& v, const BookedLog& booked) {
  const MemoryBooking& fullest = fullest_of(booked);
  const Bytes allocated = sum_of(fullest, MemoryTerm::allocated), slack = sum_of(fullest, MemoryTerm::slack);
  const std::string where =
      fullest.gpu && booked.bookings.size() > 1 ? fmt::format(" on GPU {}, the fullest", *fullest.gpu) : std::string();
  v.push_back({"peak", fmt::format("{} allocated{}", signed_bytes(allocated), where)});
  if (!fullest.term(MemoryTerm::slack)) return;
  v.push_back({"lost", fmt::format("{} at most to fragmentation: the peak of what was reserved beyond that of what was "
                                   "allocated",
                                   signed_bytes(slack))});
}

// ---- A server

std::string length_text(Count tokens) { return grouped_digits(fmt::format("{}", tokens)); }

/// Whether the longest request fits; absent if the log has no such information.
std::optional<Finding> fit_of(const VllmStart& s) {
  const auto tokens = s.cache_tokens();
  const auto& longest = s.config.max_model_len;
  if (s.cache_needed) {
    std::string text = fmt::format("no: a request of {} tokens needs {}", longest ? length_text(*longest) : "all",
                                   signed_bytes(s.cache_needed->bytes));
    if (s.memory.kv_cache) text += fmt::format(", and the cache has {}", signed_bytes(s.memory.kv_cache->bytes));
    if (s.longest) text += fmt::format("; {} tokens would fit", length_text(*s.longest));
    return Finding{"fits", text + ": lower --max-model-len or raise --gpu-memory-utilization", true};
  }
  if (s.memory.kv_cache && s.memory.kv_cache->bytes <= Bytes())
    return Finding{
        "fits",
        fmt::format("no: without any cache {} are missing: raise --gpu-memory-utilization, or divide the model "
                    "over more GPUs",
                    signed_bytes(Bytes() - s.memory.kv_cache->bytes)),
        true};
  if (!tokens || !longest) return std::nullopt;
  const double at_once = *concurrency_of(s);
  if (at_once < 1)
    return Finding{"fits",
                   fmt::format("no: {} tokens, and a request may have {}: lower --max-model-len or raise "
                               "--gpu-memory-utilization",
                               length_text(*tokens), length_text(*longest)),
                   true};
  return Finding{"fits", fmt::format("yes: {:.2f} requests of {} tokens at once", at_once, length_text(*longest))};
}

void add_server_verdict(std::vector<Finding>& v, const BookedLog& booked) {
  const VllmStart& s = booked.asked.log.vllm;
  if (const auto fit = fit_of(s)) v.push_back(*fit);
  if (const auto tokens = s.cache_tokens()) {
    std::string text = length_text(*tokens) + " tokens";
    if (s.memory.kv_cache) text += " in " + signed_bytes(s.memory.kv_cache->bytes);
    v.push_back({"cache", text});
  }
  if (v.empty() && s.memory.weights) v.push_back({"weights", signed_bytes(s.memory.weights->bytes)});
}

// ---- Comparison with a prediction

/// "-0.2 %", "0.0 %".
std::string error_text(double percent) {
  return std::fabs(percent) < 0.05 ? "0.0 %" : fmt::format("{:+.1f} %", percent);
}

/// "against the log: weights -0.2 %, KV cache +0.1 %".
std::string errors_text(const BookedLog& booked) {
  std::string s;
  for (const PredictedShare& p : booked.predicted) {
    const auto said = booked.bookings[0].term(p.of);
    if (p.key != name(p.of)) continue;  // the term includes more than the prediction
    if (!said || p.bytes <= Bytes() || *said <= Bytes()) continue;
    const double error = 100 * (static_cast<double>(p.bytes.value) / static_cast<double>(said->value) - 1);
    s += fmt::format("{}{} {}", s.empty() ? "against the log: " : ", ", p.label, error_text(error));
  }
  return s;
}

std::string allocated_text(Bytes said, Bytes predicted) {
  const Bytes left = said - predicted;
  if (left >= Bytes())
    return fmt::format("{} of the {} that are allocated; {} are unexplained", signed_bytes(predicted),
                       signed_bytes(said), signed_bytes(left));
  return fmt::format("a peak of {}, {} more than was allocated", signed_bytes(predicted), signed_bytes(Bytes() - left));
}

void add_prediction_verdict(std::vector<Finding>& v, const BookedLog& booked) {
  if (booked.predicted.empty()) return;
  if (booked.asked.log.kind == MemoryLogKind::vllm) {
    if (const std::string errors = errors_text(booked); !errors.empty()) v.push_back({"predicted", errors});
    return;
  }
  const auto said = fullest_of(booked).term(MemoryTerm::allocated);
  const auto predicted = predicted_for(booked.predicted, MemoryTerm::allocated);
  if (said && predicted) v.push_back({"predicted", allocated_text(*said, *predicted)});
}

/// Adds the unexplained rest of the fullest device, if it exceeds rounding.
void add_unexplained(std::vector<Finding>& v, const BookedLog& booked) {
  const MemoryBooking& b = fullest_of(booked);
  const Bytes left = sum_of(b, MemoryTerm::unexplained);
  if (left <= b.rounding && left >= Bytes() - b.rounding) return;
  v.push_back({"unexplained", fmt::format("{}, more than the rounding of the log", signed_bytes(left))});
}

// ---- Notes

void add_failure_notes(std::vector<std::string>& notes, const BookedLog& booked) {
  const OutOfMemoryLog& log = booked.asked.log.out_of_memory;
  const OutOfMemory& o = log.messages[0];
  if (log.repeats > 0)
    notes.push_back(fmt::format("{} of the same GPUs: the first counts, for others may follow from it",
                                counted(log.repeats, "more message")));
  if (const DeviceProcess* own = own_process(o); own != nullptr && own->pid)
    notes.push_back(
        fmt::format("process {} is taken for the one that asked: it alone holds what PyTorch reserved (in a "
                    "container processes have other numbers)",
                    *own->pid));
  if (booked.bookings[0].term(MemoryTerm::outside))
    notes.push_back(
        "outside of PyTorch are the context, libraries and other processes: the message does not divide them");
  if (booked.predicted.empty()) return;
  const auto predicted = predicted_for(booked.predicted, MemoryTerm::allocated);
  if (o.allocated && predicted && *predicted > o.allocated->bytes)
    notes.push_back(
        "a process that ran out of memory had not reached its peak; in a first step the optimizer's states "
        "are not there yet");
  if (o.private_pools) notes.push_back("tensors in CUDA graphs' pools are among what is allocated");
}

/// Whether some layer's cache does not grow with the sequence.
bool is_bounded(const Request& r) {
  const Arch& a = r.model.arch;
  return cache_bytes(a, r.plan, a.context, r.layout) != a.context * cache_bytes_per_token(a, r.plan, r.layout);
}

/// Source of the tokens per pass.
std::string_view pass_said(const Request& r, const VllmStart& s) {
  if (s.config.batched_tokens) return ", the log's,";
  return r.gave("--prompt") ? " (--prompt)" : ", vLLM's default,";
}

void add_server_notes(std::vector<std::string>& notes, const BookedLog& booked) {
  const DiagnosisQuestion& q = booked.asked;
  const VllmStart& s = q.log.vllm;
  if (s.workers > 1)
    notes.push_back(fmt::format("{} processes tell their memory; the first one's is booked", s.workers));
  if (!s.memory.total && q.hardware)
    notes.push_back(fmt::format("the log does not say the device's memory: it is {}'s", title(*q.hardware)));
  if (!s.config.utilization && !s.memory.granted && booked.defaults.utilization)
    notes.push_back(
        fmt::format("the log does not say what vLLM may fill: {:g} of the device", *booked.defaults.utilization));
  if (!s.tokens && s.blocks && !s.config.block_size && !s.concurrency)
    notes.push_back("the log does not say the tokens of a block: 16, vLLM's default");
  if (!q.plan) return;
  if (is_bounded(*q.plan))
    notes.push_back("not every layer's cache grows with the sequence: the cache is predicted as if all did");
  if (const Bytes padding = server_padding(*q.plan, s); padding > Bytes())
    notes.push_back(
        fmt::format("the predicted weights have {} of padding: experts, for their kernels", signed_bytes(padding)));
  const EngineLimits limits = server_limits(*q.plan, s);
  notes.push_back(fmt::format("activations are predicted for passes of {} tokens{} and {} sequences{}",
                              limits.pass_tokens, pass_said(*q.plan, s), limits.sequences,
                              s.config.sequences ? ", the log's" : ", vLLM's default"));
}

/// Notes a device that differs from the log's.
void add_hardware_note(std::vector<std::string>& notes, const BookedLog& booked) {
  const DiagnosisQuestion& q = booked.asked;
  if (!q.hardware || q.log.kind == MemoryLogKind::summary) return;
  const auto& said =
      q.log.kind == MemoryLogKind::vllm ? q.log.vllm.memory.total : q.log.out_of_memory.messages[0].capacity;
  if (!said) return;
  const double ratio =
      static_cast<double>(said->bytes.value) / static_cast<double>(q.hardware->cluster.device.memory.value);
  constexpr double alike = 0.1;
  if (std::fabs(ratio - 1) > alike)
    notes.push_back(fmt::format("the log's device has {}, and {} has {}: --hardware names another",
                                signed_bytes(said->bytes), title(*q.hardware),
                                signed_bytes(q.hardware->cluster.device.memory)));
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
    case MemoryLogKind::vllm:
      add_server_verdict(v, booked);
      break;
    case MemoryLogKind::out_of_memory:
      add_failure_verdict(v, booked);
      break;
    case MemoryLogKind::summary:
      add_table_verdict(v, booked);
      break;
  }
  add_prediction_verdict(v, booked);
  add_unexplained(v, booked);
  return v;
}

std::vector<std::string> diagnosis_notes(const BookedLog& booked) {
  std::vector<std::string> notes = booked.asked.notes;
  if (booked.asked.log.kind == MemoryLogKind::out_of_memory) add_failure_notes(notes, booked);
  if (booked.asked.log.kind == MemoryLogKind::vllm) add_server_notes(notes, booked);
  if (booked.asked.log.kind == MemoryLogKind::summary && booked.asked.log.summary.repeats > 0)
    notes.push_back("of several tables of a device the last counts");
  add_hardware_note(notes, booked);
  return notes;
}

}  // namespace llmcalc
