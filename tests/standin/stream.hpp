#pragma once
/// A stream whose operations run immediately or are recorded. Pinned memory that it reads must stay unchanged until the
/// host has waited for the stream.

#include <driver_types.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <string>
#include <vector>

namespace llmcalc::standin {

/// An operation of a stream. `check` runs on submission and before each run from a recording.
struct Operation {
  std::function<void()> check, run;
};

struct Recorded {
  std::vector<Operation> operations;
  std::vector<void*> unreleased;      ///< memory that the recording allocated and did not release
  std::uint64_t bytes = 0, most = 0;  ///< live bytes of the recording, current and peak
};

class Stream {
 public:
  bool captures() const { return recorded_ != nullptr; }
  void begin();
  /// Ends the recording and returns it; the caller owns it.
  Recorded* end();

  /// Runs or records an operation.
  void submit(const Operation& o);
  void launch(const Recorded& r);

  void* allocate(std::size_t bytes);  ///< null if memory is exhausted
  void release(void* p);

  /// Marks pinned memory as being read until the host waits for the stream.
  void reads(const void* pinned, std::size_t bytes);
  /// Requires that no copy is reading [p, p + bytes), which is about to be released.
  void require_unread(const void* p, std::size_t bytes) const;
  std::uint64_t position() const { return position_; }
  std::uint64_t done() const { return done_; }
  /// Marks everything up to a position as waited for by the host.
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
