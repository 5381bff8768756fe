// Interpolation between measured points.

#include "evidence/profile/measured_grid.hpp"

#include <array>
#include <cmath>

#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

double at(const MeasuredGrid& g, double x) { return g.at(std::array{x}); }
double at(const MeasuredGrid& g, double x, double y) { return g.at(std::array{x, y}); }

}  // namespace

TEST_CASE("a value is linear between points, extrapolated beyond the last, and constant before the first",
          "[measured]") {
  MeasuredGrid g;
  for (const auto& [x, v] : {std::pair{4.0, 10.0}, {2.0, 6.0}, {10.0, 40.0}}) g.add(std::array{x}, v);
  CHECK(at(g, 2) == 6);
  CHECK(at(g, 3) == 8);
  CHECK(at(g, 7) == 25);
  CHECK(at(g, 12) == 50);
  CHECK(at(g, 1) == 6);
  g.add(std::array{4.0}, 12.0);
  CHECK(at(g, 4) == 12);
}

TEST_CASE("a grid has a separate set of points for each value of its first dimension", "[measured]") {
  MeasuredGrid g;
  g.add(std::array{1.0, 0.0}, 10);
  g.add(std::array{1.0, 10.0}, 20);
  g.add(std::array{3.0, 5.0}, 100);
  CHECK(at(g, 1, 5) == 15);
  CHECK(at(g, 3, 7) == 100);
  CHECK(at(g, 2, 5) == 57.5);  // between 15 and 100
}

TEST_CASE("a grid reports the points at which its slope along the last dimension may change", "[measured]") {
  MeasuredGrid g;
  for (const double y : {0.0, 8.0}) g.add(std::array{1.0, y}, y);
  for (const double y : {0.0, 5.0}) g.add(std::array{2.0, y}, y);
  g.add(std::array{3.0, 6.0}, 0);
  CHECK(g.next_knot(std::array{1.5}, 0) == 5);
  CHECK(g.next_knot(std::array{1.5}, 5) == 8);
  CHECK(std::isinf(g.next_knot(std::array{1.5}, 8)));
  CHECK(g.next_knot(std::array{9.0}, 5) == 6);
}

TEST_CASE("a grid with one point is constant", "[measured]") {
  MeasuredGrid g;
  CHECK(g.empty());
  g.add(std::array{5.0}, 3);
  CHECK(at(g, 1) == 3);
  CHECK(at(g, 50) == 3);
}
