#pragma once
/// Where a device's memory went by a log, beside a prediction: what `llmcalc diagnose` answers.

#include <string>
#include <vector>

#include "ask/request/request.hpp"
#include "report/diagnose/memory_prediction.hpp"
#include "report/report.hpp"

namespace llmcalc {

struct DiagnosisQuestion {
  MemoryLog log;
  std::optional<Request> plan{};           ///< whose memory stands beside; absent: the log's own terms alone
  std::optional<HardwareCard> hardware{};  ///< whose capacity stands in where the log is silent
  std::vector<std::string> notes{};        ///< on how the question was understood
};

/// Throws InputError where the log's numbers are more than the device has.
Report diagnosis(const DiagnosisQuestion& question);

/// A booked log, from which verdict and notes of diagnosis() are made.
struct BookedLog {
  const DiagnosisQuestion& asked;
  BookingDefaults defaults{};
  std::vector<MemoryBooking> bookings{};
  std::vector<PredictedShare> predicted{};
};

/// "2.00 GiB", "-12.0 MiB".
std::string signed_bytes(Bytes bytes, bool plus = false);

/// Requests of max_model_len tokens that a server's cache holds: as logged, else by tokens.
std::optional<double> concurrency_of(const VllmStart& s);
/// Bytes of the cache per token, from its logged bytes and tokens.
std::optional<double> logged_bytes_per_token(const VllmStart& s);
}  // namespace llmcalc
