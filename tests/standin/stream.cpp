#include "tests/standin/stream.hpp"

#include <algorithm>

#include "tests/standin/memory.hpp"
#include "tests/standin/rules.hpp"

namespace llmcalc::standin {

void Stream::begin() {
  require(!captures(), "a recording begins in a recording");
  recorded_ = new Recorded;
}

Recorded* Stream::end() {
  require(captures(), "a recording ends that never began");
  Recorded* const r = recorded_;
  recorded_ = nullptr;
  // Addresses that the recording did not release are abandoned.
  for (void* const p : r->unreleased) memory().give_back(p, Owner::graph, "the end of a recording");
  return r;
}

void Stream::submit(const Operation& o) {
  o.check();
  ++position_;
  if (captures())
    recorded_->operations.push_back(o);
  else
    o.run();
}

void Stream::launch(const Recorded& r) {
  for (const Operation& o : r.operations) {
    o.check();
    ++position_;
    o.run();
  }
}

void* Stream::allocate(std::size_t bytes) {
  if (captures()) return record_allocation(bytes);
  if (!budget().take_pool(bytes)) return nullptr;
  void* const p = memory().place(bytes);
  memory().take(p, bytes, Owner::pool);
  return p;
}
void Stream::release(void* p) {
  if (captures())
    record_release(p);
  else
    budget().give_pool(memory().give_back(p, Owner::pool, "cudaFreeAsync"));
}

void* Stream::record_allocation(std::size_t bytes) {
  void* const p = memory().place(bytes);
  const auto take = [p, bytes] { memory().take(p, bytes, Owner::graph); };
  take();
  recorded_->operations.push_back({[] {}, take});
  recorded_->unreleased.push_back(p);
  recorded_->bytes += bytes;
  recorded_->most = std::max(recorded_->most, recorded_->bytes);
  return p;
}
void Stream::record_release(void* p) {
  const auto give = [p] { return memory().give_back(p, Owner::graph, "cudaFreeAsync in a recording"); };
  recorded_->bytes -= give();
  recorded_->operations.push_back({[] {}, give});
  std::erase(recorded_->unreleased, p);
}

void Stream::reads(const void* pinned, std::size_t bytes) {
  reads_.push_back({position_, pinned, std::string(static_cast<const char*>(pinned), bytes)});
}
void Stream::require_unread(const void* p, std::size_t bytes) const {
  if (failed()) return;  // after a failure, no work runs and the host cannot wait for it
  for (const Read& r : reads_)
    require(!(std::less_equal<>()(p, r.from) && std::less<>()(r.from, static_cast<const char*>(p) + bytes)),
            "pinned memory is released while a copy reads it");
}
void Stream::wait_until(std::uint64_t position) {
  done_ = std::max(done_, position);
  const auto finished = [&](const Read& r) {
    if (r.position > position) return false;
    require(failed() || std::memcmp(r.from, r.bytes.data(), r.bytes.size()) == 0,
            "the host changed pinned memory while a copy read it");
    return true;
  };
  reads_.remove_if(finished);
}

}  // namespace llmcalc::standin
