#include "serve/sort_times.hpp"

#include <algorithm>
#include <vector>

#include "serve/random.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("times are sorted whether they are few or many, close or far apart, equal or zero", "[serve][sort]") {
  Random random(7);
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{100'000}})
    for (const double shape : {0.01, 1.0, 50.0}) {
      std::vector<Seconds> all(n, Seconds(0.25));
      for (std::size_t i = 0; i < n; ++i)
        if (i % 3 > 0) all[i] = Seconds(i % 50 == 1 ? 0 : gamma(random, shape));
      std::vector<Seconds> expected = all;
      std::sort(expected.begin(), expected.end());
      sort_times(all);
      CHECK(all == expected);
    }
  std::vector<Seconds> alike(100'000, Seconds(2));
  sort_times(alike);
  CHECK(std::count(alike.begin(), alike.end(), Seconds(2)) == 100'000);
}
