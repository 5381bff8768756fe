#pragma once
/// A stream: its operations run at once, or are recorded. Pinned memory that it reads must stay as it is until the host
/// has waited for it.

#include <driver_types.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <string>
#include <vector>

namespace llmcalc::standin {

/// A step of a stream. `check` holds whenever it is asked for and whenever it runs from a recording.
struct Operation {
  std::function<void()> check, run;
};

struct Recorded {
  std::vector<Operation> operations;
  std::vector<void*> unreleased;      ///< memory that the recording took and did not give back
  std::uint64_t bytes = 0, most = 0;  ///< of memory that it has, now and at the worst moment
};

class Stream {
 public:
  bool captures() const { return recorded_ != nullptr; }
  void begin();
  /// The recording, which is the caller's.
  Recorded* end();

  /// Runs or records an operation.
  void submit(const Operation& o);
  void launch(const Recorded& r);

  void* allocate(std::size_t bytes);  ///< null: there is no room
  void release(void* p);

  /// The stream reads pinned memory from now until it is waited for.
  void reads(const void* pinned, std::size_t bytes);
  /// Requires that nothing reads [p, ...), which is about to be given back.
  void require_unread(const void* p, std::size_t bytes) const;
  std::uint64_t position() const { return position_; }
  std::uint64_t done() const { return done_; }
  /// The host has waited for what came before a position.
  void wait_until(std::uint64_t position);

 private:
  struct Read {
    std::uint64_t position;
    const void* from;
    std::string bytes;
  };
  void* record_allocation(std::size_t bytes);
  void record_release(void* p);

  Recorded* recorded_ = nullptr;
  std::list<Read> reads_;
  std::uint64_t position_ = 0, done_ = 0;
};

}  // namespace llmcalc::standin
