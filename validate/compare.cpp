#include "validate/compare.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace llmcalc::validate {
namespace {

using Book = std::map<std::string, Count>;

Count total(const Book& b) {
  Count n = 0;
  for (const auto& [name, count] : b) n = add(n, count);
  return n;
}
Count of(const Book& b, const std::string& name) { return b.contains(name) ? b.at(name) : 0; }

/// The operators in two tables of counts: first those in the ledger, in execution order, then the other entries (such
/// as a block's input).
std::vector<std::string> in_order(const Ledger& l, const Book& a, const Book& b) {
  std::set<std::string> left;
  for (const Book* book : {&a, &b})
    for (const auto& [op, n] : *book) left.insert(op);
  std::vector<std::string> ordered;
  for (const LedgerEntry& e : l.order)
    if (left.erase(e.name) > 0) ordered.push_back(e.name);
  ordered.insert(ordered.end(), left.begin(), left.end());
  return ordered;
}

/// Adds the rows for one table of two ledgers: the total, then every operator in either ledger.
void rows(CaseVerdict& v, const std::string& part, const std::string& quantity, Kind kind, const Ledger& p,
          const Ledger& m, Book Ledger::*book) {
  const Book &predicted = p.*book, &measured = m.*book;
  if (predicted.empty() && measured.empty()) return;
  v.rows.push_back({part, quantity, "", kind, total(predicted), total(measured)});
  for (const std::string& op : in_order(p, predicted, measured))
    v.rows.push_back({part, quantity, op, kind, of(predicted, op), of(measured, op)});
}

void flops(CaseVerdict& v, const std::string& part, const Ledger& p, const Ledger& m, const FlopNames& n,
           const std::string& suffix) {
  rows(v, part, n.forward + suffix, Kind::flops, p, m, &Ledger::forward);
  rows(v, part, n.backward + suffix, Kind::flops, p, m, &Ledger::backward);
  rows(v, part, n.recompute + suffix, Kind::flops, p, m, &Ledger::recompute);
}

const char* in_words(model::Direction d) {
  return d == model::Direction::forward ? "forward" : d == model::Direction::backward ? "backward" : "recomputed";
}

std::string described(const std::vector<LedgerEntry>& order, std::size_t i) {
  return i < order.size() ? order[i].name + " " + in_words(order[i].direction) : "no operator";
}

void compare_order(CaseVerdict& v, const std::string& part, const Ledger& p, const Ledger& m) {
  const std::size_t n = std::max(p.order.size(), m.order.size());
  v.operators = add(v.operators, static_cast<Count>(n));
  for (std::size_t i = 0; i < n && v.order.empty(); ++i) {
    if (i < p.order.size() && i < m.order.size() && p.order[i] == m.order[i]) continue;
    const std::string expected = described(p.order, i), ran = described(m.order, i);
    v.order = part + ", operator " + std::to_string(i + 1) + ": " + expected + " was predicted, but " + ran + " ran" +
              (expected == ran ? ", with a different shape" : "");
  }
}

double error(const Comparison& c) {
  const double p = static_cast<double>(c.predicted), m = static_cast<double>(c.measured);
  return std::abs(p - m) / std::max({1.0, std::abs(p), std::abs(m)});
}

}  // namespace

Count CaseVerdict::differing() const {
  return std::count_if(rows.begin(), rows.end(), [](const Comparison& c) { return !c.equal(); }) +
         (order.empty() ? 0 : 1);
}

void compare(CaseVerdict& v, const std::string& part, const Ledger& p, const Ledger& m, const FlopNames& names) {
  for (const char* quantity :
       {"parameters", "weights", "gradients", "optimizer", "kv_cache", "activations", "logits", "workspace", "peak"}) {
    if (!p.bytes.contains(quantity) && !m.bytes.contains(quantity)) continue;
    const Kind kind = std::string(quantity) == "parameters" ? Kind::count : Kind::bytes;
    v.rows.push_back({part, quantity, "", kind, of(p.bytes, quantity), of(m.bytes, quantity)});
  }
  rows(v, part, "saved for backward", Kind::bytes, p, m, &Ledger::saved);
  flops(v, part, p, m, names, "");
  compare_order(v, part, p, m);
}

void compare_counted(CaseVerdict& v, const std::string& part, const Ledger& p, const Ledger& counted,
                     const FlopNames& names) {
  flops(v, part, p, counted, names, ", counted");
  for (const std::string& op : in_order(counted, counted.beside, {}))
    v.beside.push_back({part, op, counted.beside.at(op)});
}

const Comparison* worst(const std::vector<CaseVerdict>& verdicts, std::string& name) {
  const Comparison* most = nullptr;
  for (const CaseVerdict& v : verdicts)
    for (const Comparison& c : v.rows)
      if (!c.equal() && (most == nullptr || error(c) > error(*most))) {
        most = &c;
        name = v.name;
      }
  return most;
}

}  // namespace llmcalc::validate
