#pragma once
/// Parsing of all quantities in options and hardware files. Whole numbers are read as decimal digits, never through a
/// double. Rejects a sign, "nan", "inf", hexadecimal, octal-looking "010", stray spaces, and numbers that would have to
/// be rounded or truncated.
///
/// `where` names the source of the value ("--seq", "my.json, \"memory\"") and begins the error message.

#include <string_view>

#include "calc/units.hpp"
#include "text/error.hpp"

namespace llmcalc {

/// Whether a number may omit its unit, as it may on the command line, where the option implies the unit.
enum class Bare { refused, allowed };

/// A whole number in [0, 2^63): "8192", "8k" = 8000, "8Ki" = 8192, "300B" = 300 x 10^9, "1.5T", "3e11". The suffixes
/// are k, M, G or B, T (powers of 1000) and Ki, Mi, Gi, Ti (powers of 1024).
Count parse_count(std::string_view text, std::string_view where);
/// The shortest string that parse_count() reads as exactly `n`: "15T", "100B", "1234".
std::string count_text(Count n);
/// A whole number in the format of parse_count(), at least 1.
Count parse_positive(std::string_view text, std::string_view where);
/// A number of FLOPs in [1, 2^127): "5.76e23".
Int128 parse_wide(std::string_view text, std::string_view where);

/// A finite number of at least 0, with the suffixes of parse_count(): "0.5", "400k".
double parse_real(std::string_view text, std::string_view where);
/// A finite number above 0.
double parse_positive_real(std::string_view text, std::string_view where);
/// A number from 0 to 1.
double parse_share(std::string_view text, std::string_view where);
/// A number above 0 and at most 1.
double parse_fraction(std::string_view text, std::string_view where);

/// A size that is a whole number of bytes: "80 GiB", "80GB", "512 MiB", "151397597184 B"; on the command line also
/// "64Mi".
Bytes parse_bytes(std::string_view text, std::string_view where, Bare bare = Bare::refused);
/// The whole number of bytes nearest to a rounded size printed by a program, such as "14.99 GiB".
Bytes parse_rounded_bytes(std::string_view text, std::string_view where);
/// A rate above 0: "3.35 TB/s", "820 GiB/s", or "400 Gbit/s" = 50 GB/s.
BytesPerSecond parse_rate(std::string_view text, std::string_view where, Bare bare = Bare::refused);
/// A compute rate above 0: "989.4 TFLOP/s", or "1979 TOP/s" for integers.
FlopsPerSecond parse_flops_rate(std::string_view text, std::string_view where, Bare bare = Bare::refused);
/// A time: "2 us", "1.5 ms", "3 s".
Seconds parse_seconds(std::string_view text, std::string_view where, Bare bare = Bare::refused);
/// A power in watts: "700 W", "1.2 kW".
double parse_watts(std::string_view text, std::string_view where, Bare bare = Bare::refused);
/// A price in US dollars per hour: "2.5 USD/h".
double parse_price(std::string_view text, std::string_view where, Bare bare = Bare::refused);

}  // namespace llmcalc
