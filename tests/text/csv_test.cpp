#include "text/csv.hpp"

#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;

namespace {

std::string refused(const std::string& text) {
  return test::sentence([&] { CsvTable(text, "x.csv"); });
}

}  // namespace

TEST_CASE("a CSV table has named columns and rows with their source line numbers", "[csv]") {
  const CsvTable t("layer,tokens,time_us\r\n\nqkv, 8 ,2.5e1\r\no,16k,3", "x.csv");
  CHECK(t.columns() == std::vector<std::string>{"layer", "tokens", "time_us"});
  REQUIRE(t.size() == 2);
  CHECK(t.name(0, t.column("layer")) == "qkv");
  CHECK(t.count(0, 1) == 8);
  CHECK(t.count(1, 1) == 16000);
  CHECK(t.positive(0, t.column("time_us")) == 25);
  CHECK(t.line(0) == 3);
  CHECK(t.where(1) == "x.csv, line 4");
}

TEST_CASE("the error for a malformed CSV table states the line and the reason", "[csv]") {
  CHECK(refused("") == "x.csv: expected a line of column names and lines of numbers, got an empty file");
  CHECK(refused("a,b\n") == "x.csv: expected a line of column names and lines of numbers, got no numbers");
  CHECK(refused("a,b\n1,2\n1\n") == "x.csv, line 3: expected 2 cells, one per column of a, b, got 1");
  CHECK(refused("a,b\n1,2,\n") == "x.csv, line 2: expected 2 cells, one per column of a, b, got 3");
  CHECK(refused("a,a\n1,2\n") == "x.csv, line 1: duplicate column \"a\"; remove one");
  CHECK(refused("a,\n1,2\n") == "x.csv, line 1: column 2 has no name");
  CHECK(refused("a,b\n\"1,2\n") ==
        "x.csv, line 2: a quoted cell must end with a quote followed by a comma or the end of the line");
  CHECK(refused("a,b\n\"1\"2,2\n") ==
        "x.csv, line 2: a quoted cell must end with a quote followed by a comma or the end of the line");
}

TEST_CASE("a CSV table with a byte-order mark and quoted cells, as spreadsheets write it, is read", "[csv]") {
  const CsvTable t("\xEF\xBB\xBF\"layer\",\"tokens\"\r\n\"q, \"\"k\"\"\",\"8\"\r\n\"\", 9 \r\n", "x.csv");
  CHECK(t.columns() == std::vector<std::string>{"layer", "tokens"});
  REQUIRE(t.size() == 2);
  CHECK(t.text(0, 0) == "q, \"k\"");
  CHECK(t.count(0, 1) == 8);
  CHECK(t.text(1, 0).empty());
  CHECK(t.count(1, 1) == 9);
}

TEST_CASE("the error for cells that are not numbers names their column", "[csv]") {
  const CsvTable t("layer,n\n,-1\nx,0\n", "x.csv");
  CHECK(test::sentence([&] { t.column("m"); }) == "x.csv: no column \"m\"; the columns are layer, n");
  CHECK(test::sentence([&] { t.name(0, 0); }) == "x.csv, line 2, \"layer\": expected a name, got an empty cell");
  CHECK(test::sentence([&] { t.count(0, 1); }) ==
        "x.csv, line 2, \"n\": expected a whole number (8192, 8k, 8Ki, 300B, 3e11), got \"-1\"");
  CHECK(test::sentence([&] { t.positive(1, 1); }) ==
        "x.csv, line 3, \"n\": expected a number above 0 (0.5, 1200), got \"0\"");
  CHECK(t.count(1, 1) == 0);
  for (const char* none : {"nan", "inf", "1e400", "0x10", "-0.5"})
    CHECK(test::sentence([&] {
            CsvTable("t\n" + std::string(none) + "\n", "x.csv").positive(0, 0);
          }).starts_with("x.csv, line 2, \"t\": expected a number above 0"));
}
