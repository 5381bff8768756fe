#include "evidence/errors.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

bool about(double a, double b) { return std::fabs(a - b) < 1e-12; }

/// Errors of +10 %, -20 %, +30 % and -40 % in family a, and -5 % in family b.
const std::vector<Compared> five{{"a", 110, 100, 100, 120},
                                 {"a", 80, 100, 70, 90},
                                 {"a", 130, 100, 90, 160},
                                 {"a", 60, 100, {}, {}},
                                 {"b", 190, 200, 180, 200}};

}  // namespace

TEST_CASE("an error is signed and relative to the measured value", "[errors]") {
  CHECK(about(relative_error({"", 110, 100, {}, {}}), 0.1));
  CHECK(about(relative_error({"", 80, 100, {}, {}}), -0.2));
  CHECK(relative_error({"", 3, 3, {}, {}}) == 0);
}

TEST_CASE("an interval covers the values between its ends, inclusive", "[errors]") {
  CHECK(is_covered({"", 110, 100, 100, 120}) == true);
  CHECK(is_covered({"", 80, 100, 70, 90}) == false);
  CHECK(is_covered({"", 80, 100, {}, 90}) == std::nullopt);
}

TEST_CASE("a quantile is interpolated linearly between two order statistics", "[errors]") {
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);       // (n - 1) q = 1.5: halfway from 2 to 3
  CHECK(about(quantile({4, 1, 3, 2}, 0.9), 3.7));  // 2.7: 0.7 of the way from 3 to 4
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(quantile({1, 2}, 1) == 2);
  CHECK(quantile({1, 2}, 0) == 1);
}

TEST_CASE("a summary weights every row equally", "[errors]") {
  const ErrorSummary s = summary(five);
  CHECK(s.rows == 5);
  CHECK(about(s.median, 0.2));  // of 5, 10, 20, 30, 40 %
  CHECK(about(s.mean, 0.21));   // 105 % / 5
  CHECK(about(s.p90, 0.36));    // 3.6: 0.6 of the way from 30 to 40 %
  CHECK(about(s.worst, 0.4));
  CHECK(about(s.signed_median, -0.05));  // of -40, -20, -5, 10, 30 %
  CHECK(s.coverage == 0.75);             // 3 of the 4 intervals
}

TEST_CASE("each group is summarized separately, and all groups have equal weight", "[errors]") {
  const auto groups = summary_by_group(five);
  REQUIRE(groups.size() == 2);
  CHECK(about(groups.at("a").median, 0.25));          // of 10, 20, 30, 40 %
  CHECK(about(groups.at("a").signed_median, -0.05));  // of -40, -20, 10, 30 %
  CHECK(about(groups.at("b").median, 0.05));
  const ErrorSummary s = summary_of_groups(five);
  CHECK(s.rows == 2);
  CHECK(about(s.median, 0.15));  // of 5 and 25 %
  CHECK(about(s.p90, 0.23));     // 0.9 of the way from 5 to 25 %
  CHECK(about(s.worst, 0.25));
  CHECK(about(s.signed_median, -0.05));  // of -5 and -5 %
  CHECK(about(*s.coverage, (2.0 / 3 + 1) / 2));
}

TEST_CASE("an interval score is the width, plus 20 times the distance outside", "[errors]") {
  const auto score = [](double measured) {
    return *interval_score({.group = "", .predicted = 2, .measured = measured, .low = 1, .high = 4});
  };
  CHECK(score(3) == Approx(std::log(4)));
  CHECK(score(8) == Approx(std::log(4) + 20 * std::log(2)));
  CHECK(score(0.5) == Approx(std::log(4) + 20 * std::log(2)));
  CHECK_FALSE(interval_score({.group = "", .predicted = 2, .measured = 2, .low = std::nullopt, .high = 4}));
}

TEST_CASE("the summary of no rows is zero", "[errors]") {
  const ErrorSummary s = summary({});
  CHECK((s.rows == 0 && s.median == 0 && s.worst == 0 && !s.coverage));
  CHECK(summary_of_groups({}).rows == 0);
}

TEST_CASE("a covering width covers the share of errors closest to the target, with equal weight per group",
          "[errors]") {
  using Errors = std::map<std::string, std::vector<double>>;
  CHECK(covering_width(Errors{{"a", {0.3}}}, 0.9) == Approx(0.31));  // only full coverage is possible
  // 0.2 covers 87.5 %, 0.5 covers all: the former is closer.
  CHECK(covering_width(Errors{{"a", {0.1, 0.1, 0.1, 0.5}}, {"b", {0.2}}}, 0.9) == Approx(0.21));
  CHECK(covering_width(Errors{{"a", {0.1, 0.1, 0.1, 0.202}}, {"b", {0.2}}}, 0.9) == Approx(0.201));  // halfway
  CHECK(covering_width(Errors{{"a", {0.1, 0.5}}, {"b", {0.2}}}, 0.9) == Approx(0.51));               // 75 % or all
  // With weights proportional to their sizes, the large group counts ten times as much.
  const Errors large{{"a", std::vector<double>(10, 0.1)}, {"b", {0.9}}};
  CHECK(covering_width(large, 0.9, 0) == Approx(0.91));
  CHECK(covering_width(large, 0.9, 1) == Approx(0.11));
}
