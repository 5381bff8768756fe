#include "calc/run.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("GPT-3 on 1024 GPUs at 140 TFLOP/s with full recomputation takes the published 34 days", "[run]") {
  // Narayanan et al. 2021 (arXiv:2104.04473): 300e9 tokens, 8 N per token
  const Seconds t = training_time(175e9, 300e9, 8, 1024, FlopsPerSecond(140e12), 1);
  CHECK(days(t) == Approx(33.90842));
}

TEST_CASE("training time is 6 N D over the devices' combined rate", "[run]") {
  CHECK(training_time(1e9, 1e9, 6, 10, FlopsPerSecond(1e15), 0.5).value == Approx(1200));
  CHECK(training_time(1e9, 1e6).value == Approx(1000));
}

TEST_CASE("a day on 100 devices is 2400 device-hours", "[run]") {
  CHECK(days(Seconds(86400)) == 1);
  CHECK(device_hours(100, Seconds(86400)) == 2400);
}

TEST_CASE("LLaMA-65B's energy and carbon match the published values", "[run]") {
  // Touvron et al. 2023 (arXiv:2302.13971), Table 15: 449 MWh, 173 t
  const double kwh = energy_kwh(1022362, 400, 1.1);
  CHECK(kwh == Approx(449839.28));
  CHECK(co2_kg(kwh, 0.385) == Approx(173188.1228));
}

TEST_CASE("cost is device-hours times price", "[run]") { CHECK(cost(30840000, 2) == 61680000); }

TEST_CASE("MFU uses FLOPs per token rather than per batch", "[run]") {
  // PaLM (arXiv:2204.02311), App. B: 45.7% without attention, 46.2% with it
  const FlopsPerSecond tpu_v4(275e12);
  CHECK(mfu(6 * 540e9, 238.3e3, 6144, tpu_v4) == Approx(0.45696732954545455));
  CHECK(mfu(3275634806784, 238.3e3, 6144, tpu_v4) == Approx(0.46199323772290907));
}

TEST_CASE("HFU counts recomputation, so it exceeds MFU at the same throughput", "[run]") {
  const FlopsPerSecond peak(1e15);
  CHECK(hfu(8e9, 1e5, 2, peak) / mfu(6e9, 1e5, 2, peak) == Approx(4.0 / 3));
}

TEST_CASE("a person reads four tokens per second", "[run]") {
  // Goon footnote 32: 185 words per minute at 1.3 tokens each
  CHECK(reading_tokens_per_second() == Approx(4.00833).epsilon(1e-5));
  CHECK(tokens_of_words(1000) == Approx(1300));
  CHECK(words_of_tokens(1300) == Approx(1000));
}

TEST_CASE("a run's time between failures is the device MTBF divided by the number of devices", "[run]") {
  CHECK(time_between_failures({.mtbf_hours = 50000, .devices = 2048, .checkpoint = {}, .restart = {}}).value ==
        Approx(50000.0 / 2048 * 3600));
}

TEST_CASE("the checkpoint interval minimizes wasted time", "[run]") {
  // Young's first term for short checkpoints: C = 1 s, M = 10^6 s, sqrt(2 C M) = 1414.2 s. Daly subtracts C and adds
  // sqrt(2 C M) sqrt(C / 2M) / 3 = C / 3.
  const Failures f{.mtbf_hours = 1e6 / 3600, .devices = 1, .checkpoint = Seconds(1), .restart = {}};
  CHECK(checkpoint_interval(f).value == Approx(1414.213562 + 1.0 / 3 - 1).epsilon(1e-6));
  const auto wasted = [&](double interval) {  // per second of work: checkpoints, and half an interval per failure
    return 1 / interval + (interval + 1) / 2 / 1e6;
  };
  const double best = wasted(checkpoint_interval(f).value);
  CHECK(best < wasted(1200));
  CHECK(best < wasted(1700));
  CHECK(1 / goodput(f) - 1 == Approx(best).epsilon(2e-3));  // equal to first order
  Failures slow = f;
  slow.checkpoint = Seconds(3e6);  // longer than two times between failures
  CHECK(checkpoint_interval(slow).value == Approx(1e6));
}

TEST_CASE("a run loses no time without failures or with free checkpoints", "[run]") {
  CHECK(goodput({.mtbf_hours = 1e12, .devices = 1, .checkpoint = Seconds(1), .restart = Seconds(100)}) ==
        Approx(1).epsilon(1e-5));
  CHECK(goodput({.mtbf_hours = 1, .devices = 1, .checkpoint = {}, .restart = {}}) == 1);
  // Restarts only: R per M on average, e^(R/M) with failures during restarts.
  CHECK(goodput({.mtbf_hours = 1, .devices = 1, .checkpoint = {}, .restart = Seconds(360)}) == Approx(std::exp(-0.1)));
}
