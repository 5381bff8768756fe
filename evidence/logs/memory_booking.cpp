#include "evidence/logs/memory_booking.hpp"

#include <algorithm>

#include "serve/engine_memory.hpp"

namespace llmcalc {

namespace {

/// Adds up memory terms and attributes the remainder of a total to one of them.
class TermLedger {
 public:
  explicit TermLedger(std::optional<Count> gpu = {}) { b_.gpu = gpu; }

  void say(MemoryTerm term, const std::optional<LoggedBytes>& said) {
    if (!said) return;
    add(term, said->bytes, false);
    b_.rounding += said->within;
  }
  void add(MemoryTerm term, Bytes bytes, bool derived = true) {
    b_.all += bytes;
    for (BookedTerm& b : b_.terms)
      if (b.term == term) return void(b.bytes += bytes);
    b_.terms.push_back({term, bytes, derived});
  }
  /// Attributes the remainder of a total to this term. A remainder that is negative due to rounding stays unexplained.
  void rest(MemoryTerm term, Bytes whole) {
    const Bytes left = whole - b_.all;
    add(left < Bytes() && left >= Bytes() - b_.rounding ? MemoryTerm::unexplained : term, left);
  }
  Bytes sum() const { return b_.all; }
  Bytes rounding() const { return b_.rounding; }
  MemoryBooking of(BookedWhole whole) && {
    b_.whole = whole;
    return std::move(b_);
  }

 private:
  MemoryBooking b_;
};

// ---- Server start-up

/// Memory of a server's device, and the part granted to the server. A value is absent if neither the log nor the
/// defaults provide it.
struct ServerWorkspace {
  std::optional<Bytes> total, granted;
};
ServerWorkspace room_of(const ServerStart& s, const BookingDefaults& defaults) {
  ServerWorkspace r;
  r.total = s.memory.total ? std::optional(s.memory.total->bytes) : defaults.capacity;
  const auto share = s.config.utilization ? s.config.utilization : defaults.utilization;
  if (s.memory.granted)
    r.granted = s.memory.granted->bytes;
  else if (r.total && share)
    r.granted = granted_memory(*r.total, *share);
  return r;
}

/// Term to which the remainder of the granted memory is attributed: the term that the log does not state.
MemoryTerm rest_of_granted(const ServerMemory& m) {
  const bool weights = m.weights || m.weights_and_libraries, libraries = m.libraries || m.weights_and_libraries;
  if (!weights || !m.kv_cache) return MemoryTerm::not_said;
  if (!libraries) return m.activations ? MemoryTerm::libraries : MemoryTerm::activations_and_libraries;
  return m.activations ? MemoryTerm::unexplained : MemoryTerm::activations;
}

void say_server(TermLedger& ledger, const ServerMemory& m) {
  if (m.weights_and_libraries && !(m.weights && m.libraries)) {
    ledger.say(MemoryTerm::weights_and_libraries, m.weights_and_libraries);
  } else {
    ledger.say(MemoryTerm::weights, m.weights);
    ledger.say(MemoryTerm::libraries, m.libraries);
  }
  ledger.say(MemoryTerm::activations, m.activations);
  ledger.say(MemoryTerm::kv_cache, m.kv_cache);
}

/// Term to which the remainder of a device's memory is attributed if the log does not state a grant.
MemoryTerm rest_of_device(const ServerMemory& m) {
  if (!m.weights && !m.host) return MemoryTerm::not_said;
  if (m.free) return m.free_at_start ? MemoryTerm::workspaces : MemoryTerm::libraries;
  return m.libraries ? MemoryTerm::free : MemoryTerm::libraries_and_free;
}

/// Attributes the memory of a server that allocates as needed, without a grant.
MemoryBooking book_as_needed(const ServerMemory& m, const std::optional<Bytes>& total) {
  TermLedger ledger;
  say_server(ledger, m);
  ledger.say(MemoryTerm::draft, m.draft);
  ledger.say(MemoryTerm::workspaces, m.workspaces);
  ledger.say(MemoryTerm::graphs, m.graphs);
  ledger.say(MemoryTerm::free, m.free);
  if (m.granted) ledger.rest(MemoryTerm::not_said, m.granted->bytes);
  const Bytes whole = m.free_at_start ? m.free_at_start->bytes : total.value_or(Bytes());
  const MemoryTerm rest = ledger.sum() > whole ? MemoryTerm::unexplained
                          : m.granted          ? MemoryTerm::free
                                               : rest_of_device(m);
  if (m.free_at_start && ledger.sum() != whole) ledger.rest(rest, whole);
  if (total && ledger.sum() != *total) ledger.rest(m.free_at_start ? MemoryTerm::held_before_start : rest, *total);
  return std::move(ledger).of(total             ? BookedWhole::capacity
                              : m.free_at_start ? BookedWhole::free_at_start
                              : m.granted       ? BookedWhole::granted
                                                : BookedWhole::said);
}

/// Attributes memory beyond the grant: graphs, which are captured after the cache is allocated, and memory in use
/// before the start.
void say_beyond(TermLedger& ledger, const ServerMemory& m, Bytes total) {
  if (m.free_at_start && m.total) {
    const LoggedBytes held{m.total->bytes - m.free_at_start->bytes, m.total->within + m.free_at_start->within};
    ledger.say(MemoryTerm::held_before_start, held);
  }
  ledger.rest(ledger.sum() > total ? MemoryTerm::unexplained : MemoryTerm::not_granted, total);
}

// ---- Out of memory

std::optional<LoggedBytes> without(const std::optional<LoggedBytes>& all, const std::optional<LoggedBytes>& part) {
  if (!all || !part) return all;
  return LoggedBytes{all->bytes - part->bytes, all->within};  // `part` is also a term, so its rounding cancels
}

/// Attributes memory outside PyTorch, split by process if the message lists processes.
void say_outside(TermLedger& ledger, const OutOfMemory& o, Bytes reserved) {
  const DeviceProcess* own = own_process(o);
  if (own == nullptr) return;
  ledger.add(MemoryTerm::libraries, std::max(Bytes(), own->bytes.bytes - reserved));
  LoggedBytes others;
  for (const DeviceProcess& p : o.processes)
    if (&p != own) others = {others.bytes + p.bytes.bytes, others.within + p.bytes.within};
  if (others.bytes > Bytes()) ledger.say(MemoryTerm::other_processes, others);
}

}  // namespace

std::optional<Bytes> MemoryBooking::term(MemoryTerm t) const {
  const auto found = std::find_if(terms.begin(), terms.end(), [&](const BookedTerm& b) { return b.term == t; });
  return found == terms.end() ? std::nullopt : std::optional(found->bytes);
}

const DeviceProcess* own_process(const OutOfMemory& o) {
  if (!o.reserved) return nullptr;
  const DeviceProcess* own = nullptr;
  Count holders = 0;
  for (const DeviceProcess& p : o.processes) {
    if (p.bytes.bytes + p.bytes.within + o.reserved->within < o.reserved->bytes) continue;  // less than reserved
    if (!p.pid) return &p;
    own = &p;
    ++holders;
  }
  return holders == 1 ? own : nullptr;
}

MemoryBooking book(const ServerStart& s, const BookingDefaults& defaults) {
  const ServerMemory& m = s.memory;
  const ServerWorkspace room = room_of(s, defaults);
  if (s.server != LoggedServer::vllm) return book_as_needed(m, room.total);
  TermLedger ledger;
  say_server(ledger, m);
  if (room.granted) {
    const Bytes set_aside = m.graphs_granted ? m.graphs_granted->bytes : Bytes();
    ledger.rest(rest_of_granted(m), *room.granted - set_aside);
  }
  if (m.graphs || m.graphs_granted) ledger.say(MemoryTerm::graphs, m.graphs ? m.graphs : m.graphs_granted);
  if (room.granted && room.total) {
    say_beyond(ledger, m, *room.total);
    return std::move(ledger).of(BookedWhole::capacity);
  }
  return std::move(ledger).of(room.granted ? BookedWhole::granted : BookedWhole::said);
}

MemoryBooking book(const OutOfMemory& o, const BookingDefaults& defaults) {
  TermLedger ledger(o.gpu);
  ledger.say(MemoryTerm::allocated, defaults.pools_apart ? without(o.allocated, o.private_pools) : o.allocated);
  if (defaults.pools_apart) ledger.say(MemoryTerm::graphs, o.private_pools);
  ledger.say(MemoryTerm::slack, o.slack);
  const Bytes reserved = ledger.sum();
  const std::optional<Bytes> capacity = o.capacity ? std::optional(o.capacity->bytes) : defaults.capacity;
  if (!capacity) return std::move(ledger).of(BookedWhole::said);
  say_outside(ledger, o, reserved);
  ledger.say(MemoryTerm::free, o.free);
  const MemoryTerm rest = own_process(o) != nullptr ? MemoryTerm::unexplained
                          : o.free && o.reserved    ? MemoryTerm::outside
                                                    : MemoryTerm::not_said;
  ledger.rest(rest, *capacity);
  return std::move(ledger).of(BookedWhole::capacity);
}

MemoryBooking book(const MemorySummary& s, const BookingDefaults& defaults) {
  TermLedger ledger(s.device);
  if (s.allocated) ledger.say(MemoryTerm::allocated, s.allocated->peak);
  if (s.reserved) {
    const Bytes slack = s.reserved->peak.bytes - ledger.sum();
    ledger.add(s.allocated ? MemoryTerm::slack : MemoryTerm::not_said, slack);
  }
  if (!defaults.capacity) return std::move(ledger).of(s.reserved ? BookedWhole::granted : BookedWhole::said);
  ledger.rest(MemoryTerm::not_said, *defaults.capacity);
  return std::move(ledger).of(BookedWhole::capacity);
}

MemoryBooking book(const RankMemory& r, const BookingDefaults& defaults) {
  if (!r.peak_allocated && r.peak_reserved) {
    TermLedger ledger;
    ledger.say(MemoryTerm::reserved, r.peak_reserved);
    if (!defaults.capacity) return std::move(ledger).of(BookedWhole::said);
    ledger.rest(MemoryTerm::not_said, *defaults.capacity);
    return std::move(ledger).of(BookedWhole::capacity);
  }
  MemorySummary s;
  if (r.peak_allocated) s.allocated = UsageNow{*r.peak_allocated, *r.peak_allocated};
  if (r.peak_reserved) s.reserved = UsageNow{*r.peak_reserved, *r.peak_reserved};
  return book(s, defaults);
}

std::vector<MemoryBooking> book(const MemoryLog& log, const BookingDefaults& defaults) {
  std::vector<MemoryBooking> all;
  if (log.kind == MemoryLogKind::server) all.push_back(book(log.server, defaults));
  if (log.kind == MemoryLogKind::out_of_memory)
    for (const OutOfMemory& o : log.out_of_memory.messages) all.push_back(book(o, defaults));
  if (log.kind == MemoryLogKind::summary)
    for (const MemorySummary& s : log.summary.devices) all.push_back(book(s, defaults));
  if (log.kind == MemoryLogKind::training) all.push_back(book(log.training.fullest(), defaults));
  return all;
}

}  // namespace llmcalc
