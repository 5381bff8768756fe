#pragma once
/// Breaks down a device's memory according to a log and compares it with a prediction: the answer of `llmcalc
/// diagnose`.

#include <string>
#include <vector>

#include "ask/request/request.hpp"
#include "report/diagnose/memory_prediction.hpp"
#include "report/report.hpp"

namespace llmcalc {

struct DiagnosisQuestion {
  MemoryLog log;
  std::optional<Request> plan{};           ///< plan for the predicted memory; absent: only the log's terms
  std::optional<HardwareCard> hardware{};  ///< supplies the capacity if the log does not
  Notes notes{};                           ///< notes on how the log was interpreted
};

/// Throws InputError if the log's numbers exceed the device's memory.
Report diagnosis(const DiagnosisQuestion& question);

/// The memory terms of a log, from which diagnosis() derives the verdict and the notes.
struct BookedLog {
  const DiagnosisQuestion& asked;
  BookingDefaults defaults{};
  std::vector<MemoryBooking> bookings{};
  std::vector<PredictedShare> predicted{};
};

/// A size that may be negative: "2.00 GiB", "-12.0 MiB".
std::string signed_bytes(Bytes bytes, bool plus = false);

/// Number of requests of max_model_len tokens that fit in a server's cache: as logged, otherwise derived from the
/// cache's tokens.
std::optional<double> concurrency_of(const ServerStart& s);
/// Cache bytes per token, from the logged bytes and tokens.
std::optional<double> logged_bytes_per_token(const ServerStart& s);
}  // namespace llmcalc
