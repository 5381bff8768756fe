// Regular expressions for module names: the same results as Python's re, and no slow patterns.

#include "presets/import/expression.hpp"
#include "tests/catch.hpp"

using llmcalc::import::Expression;
using llmcalc::import::ExpressionError;

TEST_CASE("a regular expression matches the same strings as Python's re module", "[expression]") {
  struct Row {
    const char *pattern, *text;
    bool begins, within;
  };
  const auto row = GENERATE(
      Row{"abc", "abcd", true, true}, Row{"bc", "abcd", false, true}, Row{"a.c", "abc", true, true},
      Row{"a\\.c", "abc", false, false}, Row{"(a|b)+c", "ababc", true, true}, Row{"(a|b|cd)e", "xcde", false, true},
      Row{"a{2,3}b", "ab", false, false}, Row{"a{2,3}b", "aaab", true, true}, Row{"a{2}b", "xaaab", false, true},
      Row{"a{,2}b", "b", true, true}, Row{"a{2,}$", "aaaa", true, true}, Row{"^a*$", "aab", false, false},
      Row{"[a-c_]+$", "ab_c", true, true}, Row{"[^.]+\\.q", "self.q", true, true}, Row{"[]x]", "]", true, true},
      Row{"[\\d-]+x", "1-2x", true, true}, Row{"\\d+\\.\\w+", "12.mlp", true, true}, Row{"\\D", "7", false, false},
      Row{"a??b", "ab", true, true}, Row{"(?:a|b)c", "bc", true, true}, Row{"(?P<l>a)c", "ac", true, true},
      Row{"layers\\.(?!0\\.).*", "layers.1.mlp", true, true}, Row{"layers\\.(?!0\\.).*", "layers.0.mlp", false, false},
      Row{"(?=.*gate)mlp", "mlp.gate", true, true}, Row{"(?=.*gate)mlp", "mlp.up", false, false},
      Row{"(?!.*(?=x)x)a", "ax", false, false}, Row{"\\bup\\b", "mlp.up", false, true},
      Row{"\\bup\\b", "mlp.up_a", false, false}, Row{"", "a", true, true}, Row{"()*a", "a", true, true},
      Row{"(a*)*b", "aab", true, true}, Row{"a{b", "a{b", true, true}, Row{"|a", "b", true, true});
  INFO(row.pattern << " of " << row.text);
  CHECK(Expression(row.pattern).begins(row.text) == row.begins);
  CHECK(Expression(row.pattern).within(row.text) == row.within);
}

TEST_CASE("regular expressions have a step limit, and invalid ones are rejected", "[expression]") {
  const std::string text(200, 'a');
  CHECK_FALSE(Expression("(a+)+$b").begins(text));
  CHECK_FALSE(Expression("(.*)*(.*)*(.*)*x").within(text));
  CHECK_FALSE(Expression("(?=(?=(a+)+b)(a+)+b)(a|aa)+b").within(text));
  for (const std::string& bad :
       {std::string(30000, '('), std::string("("), std::string(")"), std::string("[a"), std::string("*a"),
        std::string("a**"), std::string("\\1"), std::string("(?<=a)b"), std::string("[b-a]"), std::string("a{3,2}"),
        std::string("a\\"), std::string("((((a{99}){99}){99}){99})"), std::string("((((){999}){999}){999}){999}"),
        std::string(40, '(') + std::string(40, ')'), std::string(5000, 'a'), std::string("(?i)a")})
    CHECK_THROWS_AS(Expression(bad), ExpressionError);
}
