#pragma once
/// Building blocks for rows of option tables: how an option's value is read into a request and shown.

#include <fmt/format.h>

#include "ask/request/options/option_values.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/serving_inputs.hpp"
#include "ask/request/target.hpp"
#include "presets/formats/weight_formats.hpp"
#include "text/names.hpp"

namespace llmcalc::option_fields {

using Text = std::string_view;

// ---- Access to a value in a request

template <typename R, typename T>
auto& in(R& r, T Plan::*member) {
  return r.plan.*member;
}
template <typename R, typename T>
auto& in(R& r, T Layout::*member) {
  return r.layout.*member;
}
template <typename R, typename T>
auto& in(R& r, T RunInputs::*member) {
  return r.run.*member;
}
template <typename R, typename T>
auto& in(R& r, T ServingInputs::*member) {
  return r.serving.*member;
}
template <typename R, typename T>
auto& in(R& r, T Request::*member) {
  return r.*member;
}

inline json::Value shown(DType t) { return std::string(t.name()); }
inline json::Value shown(const CacheFormats& f) { return cache_text(f); }
/// Shows a single format by name, or formats by component.
inline json::Value shown(const WeightFormats& w) {
  return w.uniform() ? shown(w[Component::mlp]) : weight_formats_json(w);
}
inline json::Value shown(const LogitStore& l) {
  if (l.format == LogitFormat::compute) return "compute";
  if (l.format == LogitFormat::with_gradient) return "bf16+grad";
  if (l.format == LogitFormat::copies) return fmt::format("bytes:{}", l.bytes);
  if (l.chunk_tokens > 0) return fmt::format("chunked:{} tokens", l.chunk_tokens);
  return l.chunks > 1 ? fmt::format("chunked:{}", l.chunks) : "fp32";
}
inline json::Value shown(BytesPerSecond r) { return r.value; }
inline json::Value shown(const SpeedTarget& t) { return target_text(t); }
inline json::Value shown(Seconds t) { return t.value; }
inline json::Value shown(const Ratio& r) { return r.value(); }
template <typename T>
json::Value shown(const T& value) {
  if constexpr (Named<T>)
    return std::string(name(value));
  else
    return value;
}
template <typename T>
json::Value shown(const std::optional<T>& value) {
  return value ? shown(*value) : json::Value();
}

template <auto member>
json::Value show(const Request& r) {
  return shown(in(r, member));
}

template <auto member, auto read>
inline constexpr Field value{[](Request& r, Text text, Text where) { in(r, member) = read(text, where); },
                             show<member>};

template <auto member, bool to = true>
inline constexpr Field flag{[](Request& r, Text, Text) { in(r, member) = to; }, show<member>};

/// A flag; shown only if set.
template <auto member>
inline constexpr Field mark{[](Request& r, Text, Text) { in(r, member) = true; },
                            [](const Request& r) { return r.*member ? json::Value(true) : json::Value(); }};

template <Named E, E Plan::*member>
inline constexpr Field choice = value<member, read_choice<E>>;

}  // namespace llmcalc::option_fields
