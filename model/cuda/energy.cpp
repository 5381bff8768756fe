#include "model/cuda/energy.hpp"

namespace llmcalc::model::cuda {

constexpr std::chrono::milliseconds between_samples{20};

double trapezoid(const std::vector<PowerSample>& samples) {
  double joules = 0;
  for (std::size_t i = 1; i < samples.size(); ++i)
    joules += (samples[i].seconds - samples[i - 1].seconds) * (samples[i].watts + samples[i - 1].watts) / 2;
  return joules;
}

void EnergyMeter::sample() {
  if (const auto watts = board_.watts()) samples_.push_back({elapsed(), *watts});
}

void EnergyMeter::start() {
  samples_.clear();
  begin_ = Clock::now();
  joules_ = board_.joules();
  if (joules_) return;
  sample();
  sampler_ = std::jthread([this](const std::stop_token& stopped) {
    while (!stopped.stop_requested()) std::this_thread::sleep_for(between_samples), sample();
  });
}

std::optional<Energy> EnergyMeter::stop() {
  if (sampler_.joinable()) {
    sampler_.request_stop();
    sampler_.join();
  }
  const double seconds = elapsed();
  if (joules_) {
    const auto now = board_.joules();
    if (!now) return std::nullopt;
    return Energy{*now - *joules_, Seconds(seconds), "the board's energy counter"};
  }
  if (samples_.size() < 2) return std::nullopt;
  return Energy{trapezoid(samples_), Seconds(samples_.back().seconds), "power sampled every 20 ms"};
}

}  // namespace llmcalc::model::cuda
