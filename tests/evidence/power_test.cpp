#include "evidence/fit/power_fit.hpp"

#include "evidence/prediction.hpp"
#include "evidence/rows/measurement_file.hpp"
#include "evidence/rows/published.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

const std::vector<PowerFitRow>& power_rows_once() {
  static const auto rows = power_fit_rows(published_measurements(MeasurementKind::inference).inference);
  return rows;
}

}  // namespace

TEST_CASE("the shipped power parameters are the result of the fit", "[power][long]") {
  const PowerEstimate fitted = fitted_power(power_rows_once());
  const PowerEstimate& shipped = power_estimate();
  CHECK(power_rows_once().size() == 192);
  CHECK(shipped.parameters.base == Approx(fitted.parameters.base).epsilon(1e-9));
  CHECK(shipped.parameters.compute == Approx(fitted.parameters.compute).epsilon(1e-9));
  CHECK(shipped.parameters.idle == Approx(fitted.parameters.idle).epsilon(1e-3));
  CHECK(shipped.interval.factor == Approx(fitted.interval.factor).epsilon(1e-3));
  CHECK(shipped.interval.families == fitted.interval.families);
}

TEST_CASE("power rises with the square root of utilization up to the rated power", "[power]") {
  const PowerParameters p{.idle = 0.25, .base = 0.5, .compute = 1};
  CHECK(power_share(p, 0) == 0.5);
  CHECK(power_share(p, 0.04) == Approx(0.7));
  CHECK(power_share(p, 0.25) == 1);
  CHECK(power_share(p, 1) == 1);
}

TEST_CASE("a device that is partly idle draws less", "[power]") {
  const PowerParameters p{.idle = 0.25, .base = 0.5, .compute = 1};
  CHECK(mean_power_share(p, 0.04, 1) == power_share(p, 0.04));
  CHECK(mean_power_share(p, 0.04, 0.5) == Approx(0.5 * power_share(p, 0.08) + 0.5 * 0.25));
  CHECK(mean_power_share(p, 0, 0) == 0.25);
}

TEST_CASE("the fit recovers the parameters of exact rows, and a capped device shows its rated power", "[power]") {
  const PowerParameters p{.base = 0.4, .compute = 0.8};
  std::vector<PowerFitRow> rows;
  for (const char* model : {"a", "b"})
    for (const char* device : {"x", "y"})
      for (const double u : {0.0, 0.01, 0.09, 0.36, 0.81})
        rows.push_back({"source", model, device, u, power_share(p, u)});
  const PowerEstimate e = fitted_power(rows);
  CHECK(e.parameters.base == Approx(0.4));
  CHECK(e.parameters.compute == Approx(0.8));
  CHECK(e.parameters.idle == Approx(0.4));
  CHECK(e.interval.families == 1);
}
