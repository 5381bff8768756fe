#include "tests/catch.hpp"
#include "tests/golden_values/golden_rows.hpp"
#include "text/error.hpp"
#include "text/json.hpp"

using namespace llmcalc;

TEST_CASE("the textbook reproduces every golden case", "[golden]") {
  CHECK(golden::all_cases().size() == 374);
  for (const golden::Case& c : golden::all_cases()) {
    const auto result = golden::evaluate_textbook(c);
    INFO(c.id << " " << c.quantity << ": golden " << c.value << ", textbook "
              << (result ? golden::text(result->computed) : "has no such quantity"));
    CHECK((result && result->equal));
  }
}

TEST_CASE("integer golden values are compared digit by digit", "[golden]") {
  const textbook::Fraction n(textbook::Exact(1'000'000'000'000) * 313'103'115'878 + 400'000'000'000, 1);
  CHECK(golden::text(n) == "313103115878400000000000");
  CHECK(golden::equal(n, "313103115878400000000000"));
  CHECK_FALSE(golden::equal(n, "313103115878400000000001"));
  CHECK_FALSE(golden::equal(textbook::Fraction(textbook::Exact(1), 2), "0"));
}

TEST_CASE("non-integer golden values are compared with a relative tolerance of 1e-9", "[golden]") {
  CHECK(golden::equal(0.0877, "0.0877"));
  CHECK(golden::equal(1 + 5e-10, "1.0"));
  CHECK_FALSE(golden::equal(1 + 5e-9, "1.0"));
  CHECK(golden::equal(textbook::Fraction(textbook::Exact(33), 4), "8.25"));
}

TEST_CASE("a quantity that the textbook lacks has no value", "[golden]") {
  golden::Case c;
  c.quantity = "taste";
  CHECK_FALSE(golden::evaluate_textbook(c).has_value());
}

TEST_CASE("a golden file that is not a list of complete cases is rejected", "[golden]") {
  CHECK_THROWS_AS(golden::cases("{}", "golden"), InputError);
  CHECK_THROWS_AS(golden::cases(R"([{"id": "x"}])", "golden"), InputError);
  CHECK_THROWS_AS(
      golden::cases(R"([{"id": "x", "quantity": "cost", "inputs": {}, "value": 1, "unit": "", "convention": ""}])",
                    "golden"),
      InputError);
}

TEST_CASE("the error for a missing or unknown golden input names the input", "[golden]") {
  golden::Case c;
  c.id = "x";
  c.quantity = "kaplan_loss";
  c.inputs = json::parse(R"({"kind": "taste", "x": 1})", "x");
  CHECK_THROWS_WITH(golden::textbook_value(c), Catch::Contains("taste"));
  c.inputs = json::parse(R"({"kind": "N"})", "x");
  CHECK_THROWS_WITH(golden::textbook_value(c), Catch::Contains("\"x\" is missing"));
}

TEST_CASE("a golden model is converted to an Arch", "[golden]") {
  for (const golden::Case& c : golden::all_cases()) {
    if (c.id != "published-037") continue;
    const Arch a = golden::arch(json::Object(c.inputs, c.id).object("model"));
    CHECK(a.layers == 61);
    CHECK(a.latent.kv_rank == 512);
    CHECK(a.moe.layers.size() == 58);
    CHECK_FALSE(a.moe.layers.contains(2));
  }
}
