#pragma once
/// Units of measure as types, which prevents mixing up bytes and FLOPs.
///
/// Counts and bytes are 64-bit integers, FLOPs are 128-bit unsigned integers; both are checked for overflow in every
/// operation. Only times, rates and ratios are floating point.

#include <compare>
#include <cstdint>
#include <stdexcept>

namespace llmcalc {

using Count = std::int64_t;        ///< a count of parameters, tokens, dimensions or ranks; the name of a field states
                                   ///< which
using Int128 = unsigned __int128;  ///< integer for FLOPs, which exceed 2^64 in a training run

/// Thrown when a count or a number of bytes exceeds 2^63, or a number of FLOPs exceeds 2^128.
struct Overflow : std::overflow_error {
  Overflow() : std::overflow_error("a count exceeds 2^63") {}
};
/// Throws Overflow. Not inlined, to keep the inlined checks small.
[[noreturn, gnu::cold, gnu::noinline]] inline void overflow() { throw Overflow(); }

[[nodiscard]] constexpr Count add(Count a, Count b) {
  Count r = 0;
  if (__builtin_add_overflow(a, b, &r)) overflow();
  return r;
}

[[nodiscard]] constexpr Count mul(Count a, Count b) {
  Count r = 0;
  if (__builtin_mul_overflow(a, b, &r)) overflow();
  return r;
}

/// A count as a floating-point value for times and ratios.
[[nodiscard]] constexpr double real(Count n) { return static_cast<double>(n); }

/// The product of any number of counts, checked at every step.
template <typename... More>
[[nodiscard]] constexpr Count mul(Count a, Count b, More... more) {
  return mul(mul(a, b), more...);
}

/// a/b rounded up, for a >= 0 and b > 0.
[[nodiscard]] constexpr Count ceil_div(Count a, Count b) { return a / b + (a % b != 0 ? 1 : 0); }

/// Bytes stored or moved, exact.
struct Bytes {
  Count value = 0;
  constexpr Bytes() = default;
  constexpr explicit Bytes(Count v) : value(v) {}
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes o) {
    value = add(value, o.value);
    return *this;
  }
  constexpr Bytes& operator-=(Bytes o) {
    if (__builtin_sub_overflow(value, o.value, &value)) overflow();
    return *this;
  }
};
constexpr Bytes operator+(Bytes a, Bytes b) { return a += b; }
constexpr Bytes operator-(Bytes a, Bytes b) { return a -= b; }
constexpr Bytes operator*(Count n, Bytes b) { return Bytes(mul(n, b.value)); }
constexpr Bytes operator*(Bytes b, Count n) { return n * b; }

/// Floating-point operations, exact; a multiply-add counts as 2.
struct Flops {
  Int128 value = 0;
  constexpr Flops() = default;
  constexpr explicit Flops(Int128 v) : value(v) {}
  constexpr auto operator<=>(const Flops&) const = default;
  constexpr Flops& operator+=(Flops o) {
    if (__builtin_add_overflow(value, o.value, &value)) overflow();
    return *this;
  }
  constexpr Flops& operator-=(Flops o) {
    if (__builtin_sub_overflow(value, o.value, &value)) overflow();
    return *this;
  }
};
constexpr Flops operator+(Flops a, Flops b) { return a += b; }
constexpr Flops operator-(Flops a, Flops b) { return a -= b; }
constexpr Flops operator*(Count n, Flops f) {
  if (n < 0) overflow();
  if (f.value >> 64 == 0)
    return Flops(static_cast<Int128>(n) * static_cast<std::uint64_t>(f.value));  // cannot exceed 2^128
  Int128 r = 0;
  if (__builtin_mul_overflow(static_cast<Int128>(n), f.value, &r)) overflow();
  return Flops(r);
}
constexpr Flops operator*(Flops f, Count n) { return n * f; }

/// FLOPs as a product of dimensions: flops(2, m, k, n) for an (m,k) by (k,n) matmul.
template <typename... Dims>
[[nodiscard]] constexpr Flops flops(Count a, Dims... dims) {
  Flops f(1);
  f = a * f;
  ((f = static_cast<Count>(dims) * f), ...);
  return f;
}

/// An exact non-negative fraction.
struct Ratio {
  Count numerator = 0, denominator = 1;
  constexpr double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
  constexpr bool operator==(const Ratio&) const = default;
};
/// A fraction of a number of bytes, rounded down.
constexpr Bytes share_of(Bytes all, Ratio f) {
  if (f.numerator == 0) return {};
  return Bytes(static_cast<Count>(static_cast<Int128>(all.value) * static_cast<Int128>(f.numerator) /
                                  static_cast<Int128>(f.denominator)));
}

struct Seconds {
  double value = 0;
  constexpr Seconds() = default;
  constexpr explicit Seconds(double v) : value(v) {}
  constexpr auto operator<=>(const Seconds&) const = default;
  constexpr Seconds& operator+=(Seconds o) {
    value += o.value;
    return *this;
  }
};
constexpr Seconds operator+(Seconds a, Seconds b) { return Seconds(a.value + b.value); }
constexpr Seconds operator-(Seconds a, Seconds b) { return Seconds(a.value - b.value); }
constexpr Seconds operator*(double n, Seconds s) { return Seconds(n * s.value); }
constexpr double operator/(Seconds a, Seconds b) { return a.value / b.value; }

struct BytesPerSecond {
  double value = 0;
  constexpr BytesPerSecond() = default;
  constexpr explicit BytesPerSecond(double v) : value(v) {}
  constexpr auto operator<=>(const BytesPerSecond&) const = default;
};

struct FlopsPerSecond {
  double value = 0;
  constexpr FlopsPerSecond() = default;
  constexpr explicit FlopsPerSecond(double v) : value(v) {}
  constexpr auto operator<=>(const FlopsPerSecond&) const = default;
};

/// Arithmetic intensity, and the ridge point of a device.
struct FlopsPerByte {
  double value = 0;
  constexpr FlopsPerByte() = default;
  constexpr explicit FlopsPerByte(double v) : value(v) {}
  constexpr auto operator<=>(const FlopsPerByte&) const = default;
};

constexpr Seconds operator/(Bytes b, BytesPerSecond r) { return Seconds(static_cast<double>(b.value) / r.value); }
constexpr Seconds operator/(Flops f, FlopsPerSecond r) { return Seconds(static_cast<double>(f.value) / r.value); }
constexpr FlopsPerByte operator/(Flops f, Bytes b) {
  return FlopsPerByte(static_cast<double>(f.value) / static_cast<double>(b.value));
}
constexpr FlopsPerByte operator/(FlopsPerSecond f, BytesPerSecond b) { return FlopsPerByte(f.value / b.value); }
constexpr BytesPerSecond operator*(double n, BytesPerSecond r) { return BytesPerSecond(n * r.value); }
constexpr FlopsPerSecond operator*(double n, FlopsPerSecond r) { return FlopsPerSecond(n * r.value); }

}  // namespace llmcalc
