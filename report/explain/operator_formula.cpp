#include "report/explain/operator_formula.hpp"

#include "calc/cost/cost.hpp"
#include "calc/operator/operand.hpp"
#include "calc/textbook/flops.hpp"
#include "calc/textbook/operands.hpp"
#include "report/explain/expr.hpp"
#include "report/explain/setting.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

using Counts = OperatorFormula::Counts;
using explain::Expr;
using textbook::Fraction;

/// Writes formulas over the dimensions of a shape and records the meaning of each symbol.
class Writer {
 public:
  explicit Writer(const Pricing& p) : p_(p) {}

  Counts counts = Counts::flops;
  std::vector<explain::Symbol> symbols;

  Expr operator()(const Linear& s) {
    const textbook::ProductSizes<Expr> p = sizes(s);
    return Expr(2) * p.rows * p.in * p.out;
  }
  /// Bytes of a matmul's operands in format f.
  Expr operands(const Linear& s, const Format& f) {
    counts = Counts::operands;
    return textbook::forward_operands(f, scaled(f), sizes(s));
  }
  Expr operator()(const Attention& s) {
    const Expr width =
        letter("d_qk", "head width of queries and keys", s.qk_dim) + letter("d_v", "head width of the values", s.v_dim);
    const Expr heads = letter("A", "heads", s.heads), batch = letter("B", "sequences", s.sequences);
    const Expr tokens = !s.reach.limited() ? Expr(0)
                        : s.reach.chunked  ? letter("W_c", "attention chunk, tokens", s.reach.tokens)
                                           : letter("W", "window, including the token itself", s.reach.tokens);
    const Expr queries = s.queries == 1 ? Expr(1) : letter("S", "queries per sequence", s.queries);
    const Expr context = s.past() == 0 ? queries : letter("c", "keys per sequence", s.keys);
    const bool pools = s.pooled > 0, chooses = s.selection.chooses();
    const Expr chosen = chooses ? letter("k_i", "keys read per query", s.selection.keys) : Expr(0);
    const Expr block = s.selection.block > 0 ? letter("b_i", "tokens per block", s.selection.block) : Expr(0);
    return Expr(2) * heads * width * batch * over_documents(queries, context, [&](const Expr& q, const Expr& c) {
             if (s.bidirectional) return textbook::query_key_pairs(p_.convention, q, c, {tokens, false, true});
             if (pools)
               return textbook::query_key_pairs(p_.convention, q, c, {tokens, s.reach.chunked}) +
                      textbook::pooled_pairs(p_.convention, q, c, group(s.pooled), chosen);
             return chooses ? textbook::chosen_pairs(p_.convention, q, c, chosen, block)
                            : textbook::query_key_pairs(p_.convention, q, c, {tokens, s.reach.chunked});
           });
  }
  Expr operator()(const IndexScores& s) {
    const Expr width = letter("d_i", "width of the indexer's heads and key", s.width);
    const Expr heads = letter("A_i", "indexer heads", s.heads), batch = letter("B", "sequences", s.sequences);
    const Expr queries = s.queries == 1 ? Expr(1) : letter("S", "queries per sequence", s.queries);
    const Expr context = s.past() == 0 ? queries : letter("c", "keys per sequence", s.keys);
    return Expr(2) * heads * width * batch * over_documents(queries, context, [&](const Expr& q, const Expr& c) {
             return s.pooled > 0 ? textbook::pooled_pairs(p_.convention, q, c, group(s.pooled), Expr(0))
                                 : textbook::query_key_pairs(p_.convention, q, c, {});
           });
  }
  /// Bytes: keys and gates read, pooled keys written.
  Expr operator()(const Pool& s) {
    counts = Counts::bytes;
    return number_bytes() * (Expr(2) * rows(s.rows()) * letter("wide", "elements of a token's key and gate", s.wide) +
                             letter("pooled", "pooled keys", s.pooled()) * width(s.width));
  }
  /// FLOPs: 2 per state element for each pass over the state.
  Expr operator()(const LinearAttention& s) {
    const Expr value = letter("d_h", "head width", s.head_dim);
    const Expr key = s.key_dim == s.head_dim ? value : letter("d_k", "width of queries and keys", s.key_dim);
    const Expr values = s.normalized ? value + Expr(1) : value;
    return Expr(2 * passes(s.rule)) * rows(s.rows()) * letter("A", "heads", s.heads) * key * values;
  }
  Expr operator()(const Convolution& s) {
    return Expr(2) * rows(s.rows()) * letter("channels", "channels", s.channels) *
           letter("t_c", "taps per channel", s.taps);
  }

  /// Bytes: each token is read once, and its token-shift results are written.
  Expr operator()(const Shift& s) {
    const Expr mixes = letter("n_x", "mixes of a token with its predecessor", s.mixes);
    return moved(Expr(1) + (s.moved ? Expr(2) * mixes : mixes), s.rows(), s.width);
  }
  Expr operator()(const Lookup& s) { return moved(1, s.tokens, s.width); }
  Expr operator()(const Norm& s) { return moved(2, s.rows, s.width); }
  Expr operator()(const Pointwise& s) {
    switch (s.kind) {
      case PointwiseKind::add:
      case PointwiseKind::multiply:
      case PointwiseKind::gate:
      case PointwiseKind::add_own:
        return moved(3, s.rows, s.width);
      case PointwiseKind::blend:
        return moved(4, s.rows, s.width);
      case PointwiseKind::bonus:
        return moved(6, s.rows, s.width);
      case PointwiseKind::dropout: {
        const Expr masks = Expr(2) * number_bytes() + Expr(1);
        counts = Counts::bytes;
        return masks * rows(s.rows) * width(s.width);
      }
      case PointwiseKind::mix:
        return moved(Expr(1) + letter("k", "mixed tensors", s.top_k), s.rows, s.width);
      case PointwiseKind::combine:
        return moved(Expr(1) + letter("k", "experts per token", s.top_k), s.rows, s.width);
      case PointwiseKind::gather:
        return moved(Expr(1) + letter("n_h", "residual streams", s.top_k), s.rows, s.width);
      case PointwiseKind::share:
        return moved(Expr(2) + Expr(1) / letter("n_h", "residual streams", s.top_k), s.rows, s.width);
      case PointwiseKind::repeat:
        return moved(Expr(1) + Expr(1) / letter("n_h", "residual streams", s.top_k), s.rows, s.width);
      case PointwiseKind::spread:
        return moved(Expr(2) + Expr(1) / letter("n_h", "residual streams", s.top_k), s.rows, s.width);
      case PointwiseKind::activate:
      case PointwiseKind::rope:
      case PointwiseKind::scale:
      case PointwiseKind::route:
      case PointwiseKind::dispatch:
      case PointwiseKind::predict:
      case PointwiseKind::stack:
      case PointwiseKind::first:
        break;
    }
    return moved(2, s.rows, s.width);
  }
  Expr operator()(const Loss& s) {
    counts = Counts::bytes;
    const Expr each = letter("p_l", "bytes per logit", {p_.loss_input().format().element_bits, 8});
    return each * rows(s.rows) * letter("V", "vocabulary on this rank", s.vocabulary);
  }
  Expr operator()(const Collective& c) {
    counts = Counts::collective_call;
    const Expr each = c.number_bytes > 0 ? letter("p_x", "bytes per element", c.number_bytes) : number_bytes();
    return each * letter("n", "elements of the message", c.elements);
  }

 private:
  /// The value of pairs(queries, context); for a packed sequence, its sum over the documents.
  template <typename Pairs>
  Expr over_documents(const Expr& queries, const Expr& context, const Pairs& pairs) {
    if (p_.documents.empty()) return pairs(queries, context);
    Expr all(0);
    Count run = 0;
    for (const DocumentRun& d : p_.documents) {
      const std::string i = std::to_string(++run);
      const Expr length = letter("l_" + i, "tokens per such document", d.length);
      all = all + letter("n_" + i, "documents of equal length in a sequence", d.count) * pairs(length, length);
    }
    return all;
  }
  Expr letter(const std::string& name, const char* meaning, const Fraction& value) {
    symbols.push_back({name, meaning, explain::number_text(value.value())});
    return {name, value};
  }
  textbook::ProductSizes<Expr> sizes(const Linear& s) {
    return {rows(s.rows), letter("in", "elements per token", s.in), letter("out", "output elements per token", s.out)};
  }
  /// Symbols for the parts that the format has; 0 for parts that it lacks.
  textbook::FormatSizes<Expr> scaled(const Format& f) {
    const auto some = [&](const char* name, const char* meaning, const Fraction& value) {
      return value == Fraction(0) ? Expr(0) : letter(name, meaning, value);
    };
    const char* group = f.element_bits > 0 ? "scale bytes per group" : "bytes per group, including its scale";
    return {some("e", "bytes per element", {f.element_bits, 8}),
            some("b_g", group, {f.group_bits, 8}),
            f.group > 0 ? letter("g", "elements per group", f.group) : Expr(0),
            0,
            0,
            some("b_t", "bytes per tensor", f.tensor_bytes)};
  }
  Expr group(Count tokens) { return letter("r_c", "tokens per pooled key", tokens); }
  Expr number_bytes() { return letter("p", "bytes per element", {p_.activation.format().element_bits, 8}); }
  Expr rows(Count n) { return letter("rows", "tokens processed", n); }
  Expr width(Count n) { return letter("width", "elements per token", n); }
  /// Bytes moved if every element of the result is read or written `touches` times.
  Expr moved(const Expr& touches, Count n, Count wide) {
    counts = Counts::bytes;
    return touches * number_bytes() * rows(n) * width(wide);
  }

  const Pricing& p_;
};

Quantity counted(const Op& op, const Pricing& p, Counts counts, const Expr& e) {
  if (counts == Counts::collective_call) return e.value().count();
  const Cost c = forward(op, p);
  if (counts == Counts::operands) {
    const Linear& product = std::get<Linear>(op.shape);
    const Stored w = stored(op, p);
    return static_cast<Count>(operand_read(w.operand, product.rows, product.in) + matrix_read(product, w));
  }
  if (counts == Counts::flops) return c.model;
  return static_cast<Count>(c.moved.activations);
}

}  // namespace

OperatorFormula operator_formula(const Op& op, const Pricing& p) {
  Writer writer(p);
  const Expr e = std::visit([&](const auto& shape) { return writer(shape); }, op.shape);
  return {writer.counts, {e.text(), std::move(writer.symbols)}, counted(op, p, writer.counts, e)};
}

std::optional<OperatorFormula> operand_formula(const Op& op, const Pricing& p) {
  const Linear* product = std::get_if<Linear>(&op.shape);
  const Stored w = stored(op, p);
  if (product == nullptr || w.operand.plain() || w.factor != w.operand) return std::nullopt;
  Writer writer(p);
  const Expr e = writer.operands(*product, w.operand.format());
  return OperatorFormula{writer.counts, {e.text(), std::move(writer.symbols)}, counted(op, p, writer.counts, e)};
}

std::string operator_formula_text(const Op& op, const Pricing& p) {
  const OperatorFormula f = operator_formula(op, p);
  return (f.counts == Counts::flops ? "" : "bytes: ") + f.formula.expression;
}

}  // namespace llmcalc
