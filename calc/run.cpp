#include "calc/run.hpp"

#include <cmath>

#include "calc/elementary.hpp"

namespace llmcalc {

double utilization(double flops_per_token, double tokens_per_second, Count devices, FlopsPerSecond peak) {
  return flops_per_token * tokens_per_second / (static_cast<double>(devices) * peak.value);
}
double mfu(double model_flops_per_token, double tokens_per_second, Count devices, FlopsPerSecond peak) {
  return utilization(model_flops_per_token, tokens_per_second, devices, peak);
}
double hfu(double hardware_flops_per_token, double tokens_per_second, Count devices, FlopsPerSecond peak) {
  return utilization(hardware_flops_per_token, tokens_per_second, devices, peak);
}

Seconds training_time(double params, double tokens, double flops_per_param_token, Count devices, FlopsPerSecond peak,
                      double utilization) {
  return Seconds(flops_per_param_token * params * tokens / (static_cast<double>(devices) * peak.value * utilization));
}
Seconds training_time(double tokens, double tokens_per_second) { return Seconds(tokens / tokens_per_second); }

double days(Seconds run) { return run.value / seconds_per_day; }
double device_hours(Count devices, Seconds run) { return static_cast<double>(devices) * run.value / seconds_per_hour; }

double energy_kwh(double device_hours, double watts, double pue) { return device_hours * watts * pue / 1000; }
double co2_kg(double kwh, double kg_per_kwh) { return kwh * kg_per_kwh; }
double cost(double device_hours, double price_per_hour) { return device_hours * price_per_hour; }

Seconds time_between_failures(const Failures& f) {
  return Seconds(f.mtbf_hours * seconds_per_hour / static_cast<double>(f.devices));
}

Seconds checkpoint_interval(const Failures& f) {
  const Seconds between = time_between_failures(f);
  const double ratio = f.checkpoint / (2 * between);
  if (ratio >= 1) return between;
  return std::sqrt(2 * f.checkpoint.value * between.value) * (1 + std::sqrt(ratio) / 3 + ratio / 9) * Seconds(1) -
         f.checkpoint;
}

double goodput(const Failures& f) {
  const Seconds between = time_between_failures(f), work = checkpoint_interval(f);
  if (f.checkpoint.value == 0) return elementary::exp(-(f.restart / between));  // work is saved continuously
  return work / (elementary::exp(f.restart / between) * elementary::expm1((work + f.checkpoint) / between) * between);
}

double tokens_of_words(double words) { return words * tokens_per_word; }
double words_of_tokens(double tokens) { return tokens / tokens_per_word; }
double reading_tokens_per_second(double words_per_minute) { return tokens_of_words(words_per_minute) / 60; }

}  // namespace llmcalc
