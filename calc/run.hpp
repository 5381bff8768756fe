#pragma once
/// A whole training run: duration, energy, carbon and price; conversions between words, reading speed and tokens.
///
/// Prices, watts, PUE and the carbon intensity of the grid are inputs without defaults. Watts are usually a board's
/// power limit (TDP) instead of its measured power; the result is then an upper bound.

#include "calc/units.hpp"

namespace llmcalc {

inline constexpr double seconds_per_hour = 3600, seconds_per_day = 86400;

/// FLOPs utilization: flops_per_token x tokens/s / (devices x peak).
/// With model FLOPs (forward and backward, no recomputation) it is the model FLOPs utilization, MFU: Goon (3.5),
/// which intends FLOPs per token but prints FLOPs per batch; PaLM, arXiv:2204.02311, App. B. With executed FLOPs,
/// including recomputation, it is the hardware FLOPs utilization, HFU (arXiv:2205.05198).
double utilization(double flops_per_token, double tokens_per_second, Count devices, FlopsPerSecond peak);
double mfu(double model_flops_per_token, double tokens_per_second, Count devices, FlopsPerSecond peak);
double hfu(double hardware_flops_per_token, double tokens_per_second, Count devices, FlopsPerSecond peak);

/// Time of a run by the rule of thumb f N D / (devices x peak x utilization): f = 6 with MFU; f = 8 with HFU under full
/// recomputation (Narayanan et al. 2021, arXiv:2104.04473; Goon (3.4) for f = 6).
Seconds training_time(double params, double tokens, double flops_per_param_token, Count devices, FlopsPerSecond peak,
                      double utilization);
/// Time of a run at a known combined throughput of all devices.
Seconds training_time(double tokens, double tokens_per_second);

double days(Seconds run);
double device_hours(Count devices, Seconds run);

/// device-hours x W x PUE / 1000. PUE: total power of the data center divided by its machines' power; 1: no overhead.
double energy_kwh(double device_hours, double watts, double pue);
/// kWh x the grid's kg per kWh.
double co2_kg(double kwh, double kg_per_kwh);
/// device-hours x price per device-hour.
double cost(double device_hours, double price_per_hour);

/// A run on devices that fail independently and at a constant rate. A failure stops the run, which resumes from the
/// last checkpoint.
struct Failures {
  double mtbf_hours = 0;  ///< mean time between failures of one device
  Count devices = 1;
  Seconds checkpoint;  ///< time that a checkpoint stalls the run
  Seconds restart;     ///< time from a failure until work resumes
};
/// Mean time between failures of any device.
Seconds time_between_failures(const Failures& f);
/// Optimal time between checkpoints. With M the mean time between failures and C the time of a checkpoint, it is
/// sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C; M if C >= 2 M. Source: Daly 2006, "A higher order estimate
/// of the optimum checkpoint interval for restart dumps", whose first term is Young's (1974).
Seconds checkpoint_interval(const Failures& f);
/// Fraction of the run time that goes into work that no failure undoes: tau / (M e^(R/M) (e^((tau + C)/M) - 1)), with
/// tau the checkpoint interval and R the restart time. Source: Daly 2006.
double goodput(const Failures& f);

/// Tokens per word of English text, on average (Goon §1, footnote 1). Some tokenizers and languages differ by a factor
/// of two or more.
inline constexpr double tokens_per_word = 1.3;
double tokens_of_words(double words);
double words_of_tokens(double tokens);
/// Reading speed: 185 words per minute are 4.0 tokens per second (Goon §8, footnote 32).
inline constexpr double reading_words_per_minute = 185;
double reading_tokens_per_second(double words_per_minute = reading_words_per_minute);

}  // namespace llmcalc
