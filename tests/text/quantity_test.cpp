#include "text/quantity.hpp"

#include <functional>

#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;

namespace {

using test::sentence;

std::string count_refused(std::string_view text) {
  return sentence([&] { parse_count(text, "--seq"); });
}

Count count(std::string_view text) { return parse_count(text, "--seq"); }
Bytes bytes(std::string_view text) { return parse_bytes(text, "hw.json"); }

}  // namespace

TEST_CASE("counts with or without suffixes are read exactly", "[quantity]") {
  CHECK(count("0") == 0);
  CHECK(count("8192") == 8192);
  CHECK(count("8k") == 8000);
  CHECK(count("8Ki") == 8192);
  CHECK(count("1.5Ki") == 1536);
  CHECK(count("0.25Mi") == 262144);
  CHECK(count("7M") == 7000000);
  CHECK(count("2Gi") == 2147483648);
  CHECK(count("300B") == 300000000000);
  CHECK(count("300G") == 300000000000);
  CHECK(count("1.5T") == 1500000000000);
  CHECK(count("15.6T") == 15600000000000);
  CHECK(count("3e11") == 300000000000);
  CHECK(count("3E+11") == 300000000000);
  CHECK(count("1.5e12") == 1500000000000);
  CHECK(count("5000e-3") == 5);
  CHECK(count("5e-1k") == 500);
  CHECK(count("1.0") == 1);
  CHECK(count("8.000000000000000000000000000000000000000000000000000000") == 8);
}

TEST_CASE("a count is exact beyond the precision of a double", "[quantity]") {
  CHECK(count("9223372036854775807") == INT64_MAX);
  CHECK(count("9007199254740993") == 9007199254740993);  // 2^53 + 1
  CHECK(count("9.007199254740993e15") == 9007199254740993);
  CHECK(count("9007.199254740993T") == 9007199254740993);
  CHECK(parse_wide("5.76e23", "--compute") == Int128{576} * 1000000000 * 1000000000 * 1000);
  CHECK(parse_wide("3.8e25", "--compute") == Int128{38} * 1000000000 * 1000000000 * 1000000);
  CHECK(parse_wide("170141183460469231731687303715884105727", "--c") == (Int128{1} << 127) - 1);
}

TEST_CASE("a malformed count is rejected with an error message", "[quantity]") {
  const std::string expected = "--seq: expected a whole number (8192, 8k, 8Ki, 300B, 3e11), got ";
  CHECK(count_refused("") == expected + "\"\"");
  CHECK(count_refused("-5") == expected + "\"-5\"");
  CHECK(count_refused("nan") == expected + "\"nan\"");
  CHECK(count_refused("1.5") == expected + "\"1.5\"; it is not an integer");
  CHECK(count_refused("010") == expected + "\"010\"; write \"10\"");
  CHECK(count_refused("8x") ==
        expected + "\"8x\"; valid suffixes are k, M, G or B, T (powers of 1000) and Ki, Mi, Gi, Ti (powers of 1024)");
  CHECK(count_refused("128K") == expected + "\"128K\"; write k for 1000 or Ki for 1024");
  CHECK(count_refused("9223372036854775808") == expected + "\"9223372036854775808\"; write a number below 2^63");
  CHECK(sentence([] { parse_positive("0", "--gpus"); }) ==
        "--gpus: expected a positive whole number (8192, 8k, 8Ki, 300B, 3e11), got \"0\"");
  CHECK(sentence([] { parse_wide("2e38", "--compute"); }) ==
        "--compute: expected a positive whole number (5.76e23), got \"2e38\"; write a number below 2^127");
  CHECK(sentence([] { parse_wide("0", "--compute"); }) ==
        "--compute: expected a positive whole number (5.76e23), got \"0\"");
}

TEST_CASE("text other than a plain number is never a count", "[quantity]") {
  const std::string long_number(5000, '7');
  const std::string_view text = GENERATE_COPY(values<std::string_view>({"",
                                                                        " ",
                                                                        "-",
                                                                        "+",
                                                                        "-1",
                                                                        "+1",
                                                                        "--1",
                                                                        "- 1",
                                                                        "1 ",
                                                                        " 1",
                                                                        "\t1",
                                                                        "1\n",
                                                                        "1 k",
                                                                        "8 192",
                                                                        "8,192",
                                                                        "8_192",
                                                                        "8'192",
                                                                        "nan",
                                                                        "NaN",
                                                                        "inf",
                                                                        "infinity",
                                                                        "-inf",
                                                                        "true",
                                                                        "null",
                                                                        "abc",
                                                                        "k",
                                                                        "Ki",
                                                                        "e3",
                                                                        "E",
                                                                        ".",
                                                                        ".5",
                                                                        "5.",
                                                                        "1..2",
                                                                        "1.2.3",
                                                                        "0x10",
                                                                        "0X1F",
                                                                        "0b11",
                                                                        "0o17",
                                                                        "010",
                                                                        "00",
                                                                        "007",
                                                                        "00.5",
                                                                        "1e",
                                                                        "1e+",
                                                                        "1e-",
                                                                        "1e1.5",
                                                                        "1e+-3",
                                                                        "1ee3",
                                                                        "1e99999",
                                                                        "1e5000",
                                                                        "1e30",
                                                                        "9223372036854775808",
                                                                        "18446744073709551616",
                                                                        "9.3e18",
                                                                        "9300P",
                                                                        "0.5",
                                                                        "1.0000000001k",
                                                                        "1e-1",
                                                                        "0.7Ki",
                                                                        "8kk",
                                                                        "8kB",
                                                                        "8KB",
                                                                        "8K",
                                                                        "8ki",
                                                                        "8KI",
                                                                        "300b",
                                                                        "1.5t",
                                                                        "7m",
                                                                        "2g",
                                                                        "1k5",
                                                                        "8%",
                                                                        "8*2",
                                                                        "1/2",
                                                                        "8\xC2\xA0",
                                                                        "\xEF\xBC\x98",
                                                                        "1\xCE\xBC",
                                                                        "٣",
                                                                        "8d",
                                                                        "8f",
                                                                        "8L",
                                                                        "8u",
                                                                        "1e9k1",
                                                                        "99999999999999999999999999999999999999999"}));
  CAPTURE(text);
  CHECK_THROWS_AS(parse_count(text, "--seq"), InputError);
  CHECK_THROWS_AS(parse_count(long_number, "--seq"), InputError);
  CHECK_THROWS_AS(parse_count(std::string_view("8\0", 2), "--seq"), InputError);
}

TEST_CASE("real numbers and fractions must be finite and in range", "[quantity]") {
  CHECK(parse_real("0", "--x") == 0.0);
  CHECK(parse_real("0.1", "--x") == 0.1);
  CHECK(parse_real("1e-3", "--x") == 1e-3);
  CHECK(parse_real("400k", "--x") == 400000.0);
  CHECK(parse_real("1.7976931348623157e308", "--x") == 1.7976931348623157e308);
  CHECK(parse_real(".5", "--x") == 0.5);
  CHECK(parse_fraction(".8", "--x") == 0.8);
  CHECK(parse_fraction("1", "--x") == 1.0);
  CHECK(parse_fraction("0.71", "--x") == 0.71);
  CHECK(sentence([] { parse_fraction("1.01", "--efficiency"); }) ==
        "--efficiency: expected a number above 0 and at most 1 (0.5), got \"1.01\"");
  CHECK(parse_share("0", "--overlap") == 0.0);
  CHECK(sentence([] { parse_share("1.5", "--overlap"); }) ==
        "--overlap: expected a number from 0 to 1 (0.5), got \"1.5\"");
  CHECK(parse_positive_real("1200", "--x") == 1200.0);
  CHECK(sentence([] { parse_positive_real("0", "--rate"); }) ==
        "--rate: expected a number above 0 (0.5, 1200), got \"0\"");
  const std::string_view text =
      GENERATE(values<std::string_view>({"1e309", "1e-400", "-0.5", "nan", "inf", ".", "1,5", "0x1p3", "", "1e9999"}));
  CAPTURE(text);
  CHECK_THROWS_AS(parse_real(text, "--x"), InputError);
  CHECK_THROWS_AS(parse_fraction(text, "--x"), InputError);
  CHECK_THROWS_AS(parse_fraction("0", "--x"), InputError);
  CHECK_THROWS_AS(parse_fraction("71%", "--x"), InputError);
}

TEST_CASE("sizes with units are read exactly", "[quantity]") {
  CHECK(bytes("80 GiB") == Bytes(85899345920));
  CHECK(bytes("80GB") == Bytes(80000000000));
  CHECK(bytes("512MiB") == Bytes(536870912));
  CHECK(bytes("151397597184 B") == Bytes(151397597184));
  CHECK(bytes("1.5 KiB") == Bytes(1536));
  CHECK(bytes("0.5 kB") == Bytes(500));
  CHECK(bytes("7 PiB") == Bytes(7 * (Count{1} << 50)));
  CHECK(parse_bytes("4096", "--bytes", Bare::allowed) == Bytes(4096));
  CHECK(parse_bytes("1e9", "--bytes", Bare::allowed) == Bytes(1000000000));
  CHECK(parse_bytes("300B", "--bytes", Bare::allowed) == Bytes(300));  // bytes here, not billions
}

TEST_CASE("a malformed size is rejected with an error message", "[quantity]") {
  const auto refused = [](std::string_view text) { return sentence([&] { bytes(text); }); };
  const std::string expected = "hw.json: expected a size (80 GiB), got ";
  CHECK(refused("80") == expected + "\"80\"; add the unit");
  CHECK(refused("80 Gigs") == expected + "\"80 Gigs\"; unknown unit \"Gigs\"");
  CHECK(refused("3.35 TB/s") == "hw.json: expected a size (3.35 TB), got \"3.35 TB/s\", a rate");
  CHECK(refused("700 W") == expected + "\"700 W\", a power");
  CHECK(refused("1.3 GiB") == expected + "\"1.3 GiB\"; it is not an integer");
  CHECK(refused("9 EiB") == expected + "\"9 EiB\"; unknown unit \"EiB\"");
  CHECK(refused("9999 PiB") == expected + "\"9999 PiB\"; write a number below 2^63");
  const std::string_view text =
      GENERATE(values<std::string_view>({"80  GiB", "80 GiB ", " 80 GiB", "-80 GiB", "80 gib", "80 gb", "80 Gb",
                                         "80 GIB", "GiB", "80 ", "0.5 B", "080 GiB"}));
  CAPTURE(text);
  CHECK_THROWS_AS(bytes(text), InputError);
}

TEST_CASE("rates, times, powers and prices are read as the nearest doubles", "[quantity]") {
  CHECK(parse_rate("3.35 TB/s", "w") == BytesPerSecond(3.35e12));
  CHECK(parse_rate("450 GB/s", "w") == BytesPerSecond(450e9));
  CHECK(parse_rate("820 GiB/s", "w") == BytesPerSecond(880468295680.0));
  CHECK(parse_rate("400 Gbit/s", "w") == BytesPerSecond(50e9));
  CHECK(parse_flops_rate("989.4 TFLOP/s", "w") == FlopsPerSecond(989.4e12));
  CHECK(parse_flops_rate("1979 TOP/s", "w") == FlopsPerSecond(1979e12));
  CHECK(parse_seconds("2 us", "w") == Seconds(2e-6));
  CHECK(parse_seconds("1.5 ms", "w") == Seconds(1.5e-3));
  CHECK(parse_seconds("3 s", "w") == Seconds(3));
  CHECK(parse_seconds("0 us", "w") == Seconds(0));
  CHECK(parse_watts("700 W", "w") == 700);
  CHECK(parse_watts("1.2 kW", "w") == 1200);
  CHECK(parse_watts("700", "w", Bare::allowed) == 700);
  CHECK(parse_price("2.5 USD/h", "w") == 2.5);
  CHECK(parse_price("2.5", "--price", Bare::allowed) == 2.5);
}

TEST_CASE("the error for a unit of the wrong kind names the expected kind", "[quantity]") {
  CHECK(sentence([] { parse_rate("4.8 TB", "hw.json"); }) ==
        "hw.json: expected a rate (4.8 TB/s), got \"4.8 TB\", a size");
  CHECK(sentence([] { parse_flops_rate("3.35 TB/s", "hw.json"); }) ==
        "hw.json: expected a compute rate (989.4 TFLOP/s), got \"3.35 TB/s\", a rate");
  CHECK(sentence([] { parse_price("700 W", "--price"); }) ==
        "--price: expected a price (2.5 USD/h), got \"700 W\", a power");
  CHECK(sentence([] { parse_rate("0 TB/s", "hw.json"); }) ==
        "hw.json: expected a rate (3.35 TB/s), got \"0 TB/s\"; omit it if it is unknown or not applicable");
  CHECK(sentence([] { parse_watts("700", "hw.json"); }) ==
        "hw.json: expected a power (700 W), got \"700\"; add the unit");
}

TEST_CASE("a fractional size is rounded to the nearest whole number of bytes", "[quantity]") {
  CHECK(parse_rounded_bytes("14.99 GiB", "a.log") == Bytes(16095389942));  // 14.99 x 2^30 = 16095389941.76
  CHECK(parse_rounded_bytes("0 B", "a.log") == Bytes());
  CHECK_THROWS_WITH(parse_rounded_bytes("9e18 GiB", "a.log"),
                    "a.log: expected a size (14.99 GiB), got \"9e18 GiB\"; write a number below 2^62 bytes");
  CHECK_THROWS_WITH(parse_rounded_bytes("14.99", "a.log"),
                    "a.log: expected a size (14.99 GiB), got \"14.99\"; add the unit");
}

TEST_CASE("a whole number prints in its shortest exact form and parses to the same value", "[text]") {
  CHECK(count_text(15'000'000'000'000) == "15T");
  CHECK(count_text(1'500'000'000'000) == "1500B");
  CHECK(count_text(100'000'000'001) == "100000000001");
  CHECK(count_text(2'000'000) == "2M");
  for (const Count n : {Count{0}, Count{1}, Count{999'999}, Count{1'000'000}, Count{3'500'000'000}, Count{7} << 50})
    CHECK(parse_count(count_text(n), "n") == n);
}
