#include "report/model/shape_text.hpp"

#include <fmt/format.h>

#include <initializer_list>

namespace llmcalc {
namespace {

/// The abbreviation of a collective: "AR" for all-reduce, and so on.
std::string_view short_name(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_reduce:
      return "AR";
    case CollectiveOp::all_gather:
      return "AG";
    case CollectiveOp::reduce_scatter:
      return "RS";
    default:
      return name(op);
  }
}

std::string dims(std::initializer_list<Count> all) {
  std::string s;
  for (const Count n : all) s += (s.empty() ? "" : "x") + fmt::format("{}", n);
  return s;
}

std::string shape_text(const Lookup& s) { return dims({s.tokens, s.width}); }
std::string shape_text(const Linear& s) {
  return dims({s.rows, s.in, s.out}) + (s.groups > 1 ? fmt::format(" /{}", s.groups) : "");
}
std::string shape_text(const Norm& s) { return dims({s.rows, s.width}); }
std::string shape_text(const Attention& s) {
  return fmt::format("{}/{}h {}/{}{}", s.heads, s.kv_heads, s.queries, s.keys,
                     s.reach.limited() ? fmt::format(" {}{}", s.reach.chunked ? 'c' : 'w', s.reach.tokens) : "");
}
std::string shape_text(const IndexScores& s) { return fmt::format("{}h {}/{}", s.heads, s.queries, s.keys); }
std::string shape_text(const Pool& s) { return dims({s.rows(), s.wide}) + fmt::format(" /{}", s.ratio); }
std::string shape_text(const LinearAttention& s) { return fmt::format("{}h {}", s.heads, s.queries); }
std::string shape_text(const Convolution& s) { return dims({s.rows(), s.channels}) + fmt::format(" *{}", s.taps); }
std::string shape_text(const Shift& s) { return dims({s.rows(), s.width}) + fmt::format(" x{}", s.mixes); }
std::string shape_text(const Pointwise& s) { return dims({s.rows, s.width}); }
std::string shape_text(const Loss& s) { return dims({s.rows, s.vocabulary}); }
std::string shape_text(const Collective& s) {
  std::string t;
  if (s.forward_on) t += std::string(short_name(s.forward));
  if (s.backward_on) t += (t.empty() ? "" : ", ") + std::string(short_name(s.backward)) + " back";
  return t;
}

}  // namespace

std::string shape_text(const Shape& shape) {
  return std::visit([](const auto& s) { return shape_text(s); }, shape);
}

}  // namespace llmcalc
