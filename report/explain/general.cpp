#include "report/explain/general.hpp"

#include <fmt/format.h>

#include "ask/answer/process_estimate.hpp"
#include "calc/cluster.hpp"
#include "calc/links/collective.hpp"
#include "calc/scaling.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {
namespace {

// ---- Collectives: rounds x latency + load x M/bandwidth (calc/links/collective.hpp)

struct CollectiveFormula {
  CollectiveOp op;
  CollectiveAlgorithm algorithm;
  const char* expression;
};
using By = CollectiveAlgorithm;
constexpr const char* share = "(n - 1)*alpha + (n - 1)*M/(n*beta_l)";
constexpr const char* halving = "h*alpha + (n - 1)*M/(n*beta_l)";
constexpr CollectiveFormula collective_formulas[] = {
    {CollectiveOp::broadcast, By::pipelined, "(n - 1)*alpha + M/beta_l"},
    {CollectiveOp::broadcast, By::tree, "h*(alpha + M/beta_l)"},
    {CollectiveOp::broadcast, By::scatter_allgather, "(h + n - 1)*alpha + 2*(n - 1)*M/(n*beta_l)"},
    {CollectiveOp::broadcast, By::naive, "(n - 1)*(alpha + M/beta_l)"},
    {CollectiveOp::gather, By::tree, halving},
    {CollectiveOp::gather, By::naive, share},
    {CollectiveOp::reduce, By::pipelined, "(n - 1)*alpha + M/beta_l"},
    {CollectiveOp::reduce, By::tree, "h*(alpha + M/beta_l)"},
    {CollectiveOp::reduce, By::naive, "(n - 1)*(alpha + M/beta_l)"},
    {CollectiveOp::all_gather, By::ring, share},
    {CollectiveOp::all_gather, By::recursive, halving},
    {CollectiveOp::all_gather, By::in_network, "alpha + (n - 1)*M/(n*beta_l)"},
    {CollectiveOp::all_reduce, By::ring, "2*(n - 1)*(alpha + M/(n*beta_l))"},
    {CollectiveOp::all_reduce, By::recursive, "2*h*alpha + 2*(n - 1)*M/(n*beta_l)"},
    {CollectiveOp::all_reduce, By::tree, "2*h*(alpha + M/beta_l)"},
    {CollectiveOp::all_reduce, By::tree_pipelined, "2*h*alpha + 2*M/beta_l"},
    {CollectiveOp::all_reduce, By::in_network, "2*alpha + M/beta_l"},
    {CollectiveOp::all_reduce, By::naive, "2*(n - 1)*(alpha + M/beta_l)"},
    {CollectiveOp::reduce_scatter, By::ring, share},
    {CollectiveOp::reduce_scatter, By::recursive, halving},
    {CollectiveOp::reduce_scatter, By::in_network, "alpha + (n - 1)*M/(n*beta_l)"},
    {CollectiveOp::all_to_all, By::pairwise, share},
    {CollectiveOp::all_to_all, By::bruck, "h*(alpha + M/(2*beta_l))"},
    {CollectiveOp::p2p, By::direct, "alpha + M/beta_l"},
};
/// A formula for a torus (calc/links/torus.hpp); for an all-to-all, only if the longest axis has an even number of
/// ranks.
struct TorusFormula {
  CollectiveOp op;
  const char* expression;
};
constexpr const char* torus_share = "h_t*alpha + (n - 1)*M/(n*beta_t)";
constexpr TorusFormula torus_formulas[] = {
    {CollectiveOp::broadcast, "h_t*alpha + M/beta_t"},
    {CollectiveOp::gather, torus_share},
    {CollectiveOp::reduce, "h_t*alpha + M/beta_t"},
    {CollectiveOp::all_gather, torus_share},
    {CollectiveOp::all_reduce, "2*h_t*alpha + 2*(n - 1)*M/(n*beta_t)"},
    {CollectiveOp::reduce_scatter, torus_share},
    {CollectiveOp::all_to_all, "h_t*alpha + d/4*M/(c*w)"},
    {CollectiveOp::p2p, "alpha + M/w"},
};
const std::vector<Symbol>& collective_symbols() {
  static const std::vector<Symbol> all{
      {"n", "ranks", ""},
      {"h_t", "hops to the farthest rank of a torus: m/2 in a ring of m ranks, m - 1 in a line", ""},
      {"d", "ranks along the torus axis that is longest relative to its links, even", ""},
      {"c", "links per rank along that axis: 2 in a ring, 1 in a line", ""},
      {"w", "bandwidth of one torus link, bytes/s one way", ""},
      {"beta_t", "bandwidth of all links of a rank in its part of the torus, bytes/s one way", ""},
      {"h", "rounds of a tree: log2 of the ranks, rounded up", ""},
      {"M", "bytes of the message, or total bytes of all ranks", ""},
      {"alpha", "link latency, s", ""},
      {"beta_l", "link bandwidth, bytes/s one way", ""}};
  return all;
}

constexpr std::string_view link_time = "rounds x latency + bytes of the busiest rank / bandwidth; one way";
constexpr std::string_view thakur =
    "Goon App. B; Thakur, Rabenseifner & Gropp 2005; Patarasuk & Yuan 2009; SHARP, Graham et al. 2016; torus: "
    "Jouppi et al. 2023 (arXiv:2304.01433), Austin et al. 2025, \"How to Scale Your Model\", chapter 3";

// ---- Scaling laws (calc/scaling.hpp)

std::string number(double v) { return number_text(v); }

/// The optimal number of parameters or of tokens for C FLOPs.
std::string optimum(const scaling::LossFit& f, bool params) {
  const std::string a = number(f.params_exponent), b = number(f.tokens_exponent);
  const std::string g =
      fmt::format("({}*{}/({}*{}))^(1/({} + {}))", a, number(f.params_scale), b, number(f.tokens_scale), a, b);
  return params ? fmt::format("{}*(C/6)^({}/({} + {}))", g, b, a, b)
                : fmt::format("(C/6)^({}/({} + {}))/{}", a, a, b, g);
}
std::string optimum(const scaling::SplitFit& f, bool params) {
  return fmt::format("{}*(C/{})^{}", number(params ? f.params : f.tokens()), number(f.compute),
                     number(params ? f.params_exponent : f.tokens_exponent()));
}
std::string loss(const scaling::LossFit& f) {
  return fmt::format("{} + {}/N^{} + {}/D^{}", number(f.irreducible), number(f.params_scale), number(f.params_exponent),
                     number(f.tokens_scale), number(f.tokens_exponent));
}
std::string scaling_expression(const scaling::Fit& fit, std::string_view path) {
  if (path == "scaling.loss") {
    const auto* with_loss = std::get_if<scaling::LossFit>(&fit);
    return with_loss ? loss(*with_loss) : "";
  }
  return std::visit([&](const auto& f) { return optimum(f, path == "scaling.params"); }, fit);
}
const std::vector<Symbol>& scaling_symbols() {
  static const std::vector<Symbol> all{
      {"C", "training FLOPs", ""}, {"N", "parameters", ""}, {"D", "training tokens", ""}};
  return all;
}

constexpr std::string_view budget = "6 N D = C";
constexpr std::string_view fits =
    "Hoffmann 2022 (arXiv:2203.15556); Besiroglu 2024 (arXiv:2404.10102); Kaplan 2020 (arXiv:2001.08361)";

// ---- A device

struct DeviceFormula {
  std::string_view path;
  const char* expression;
  double (*value)(const Cluster&);
};
double ridge(const Cluster& c) { return c.device.peak(dtypes::bf16).value / c.device.bandwidth.value; }
/// Bandwidth of the link between two neighbors.
double link_bandwidth(const Cluster& c) { return joining_link(c, 2).bandwidth.value; }
constexpr DeviceFormula device_formulas[] = {
    {"hardware.ridge", "pi/beta", ridge},
    {"hardware.compute_bound_tokens", "pi/beta*p_w/2", ridge},  // 2 bytes per weight, 2 FLOPs per weight and token
    {"hardware.seconds_to_read_memory", "M/beta",
     [](const Cluster& c) { return static_cast<double>(c.device.memory.value) / c.device.bandwidth.value; }},
    {"hardware.link_ridge", "pi/beta_l",
     [](const Cluster& c) { return c.device.peak(dtypes::bf16).value / link_bandwidth(c); }},
};
std::vector<Symbol> device_symbols(const Cluster* c) {
  const Device* d = c == nullptr ? nullptr : &c->device;
  const auto value = [&](double v) { return d == nullptr ? "" : number_text(v); };
  return {{"pi", "peak FLOP/s in bf16, dense", d ? value(d->peak(dtypes::bf16).value) : ""},
          {"beta", "memory bandwidth, bytes/s", d ? value(d->bandwidth.value) : ""},
          {"beta_l", "link bandwidth, bytes/s one way", d ? value(link_bandwidth(*c)) : ""},
          {"p_w", "bytes per weight", d ? "2" : ""},
          {"M", "device memory, bytes", d ? number_text(d->memory.value) : ""}};
}
const DeviceFormula* device_formula(const Definition& d) {
  for (const DeviceFormula& f : device_formulas)
    if (f.path == d.path) return &f;
  return nullptr;
}

constexpr Definition general_table[] = {
    {"collective.broadcast", "time of a broadcast", "s", nullptr, link_time, thakur},
    {"collective.gather", "time of a gather", "s", nullptr, link_time, thakur},
    {"collective.reduce", "time of a reduce", "s", nullptr, link_time, thakur},
    {"collective.all_gather", "time of an all-gather", "s", nullptr, link_time, thakur},
    {"collective.all_reduce", "time of an all-reduce", "s", nullptr, link_time, thakur},
    {"collective.reduce_scatter", "time of a reduce-scatter", "s", nullptr, link_time, thakur},
    {"collective.all_to_all", "time of an all-to-all", "s", nullptr, link_time, thakur},
    {"collective.p2p", "time of a point-to-point message", "s", nullptr, link_time, thakur},
    {"scaling.params", "compute-optimal parameters", "parameters", nullptr, budget, fits},
    {"scaling.tokens", "compute-optimal tokens", "tokens", nullptr, budget, fits},
    {"scaling.loss", "loss after training", "nats per token", nullptr, "on the paper's data and tokenizer", fits},
    {"hardware.ridge", "arithmetic intensity above which compute is the bottleneck instead of memory", "FLOP/byte",
     nullptr, "dense bf16 peak", "Williams 2009; Goon App. D"},
    {"hardware.compute_bound_tokens", "tokens per pass above which a matmul is compute-bound", "tokens", nullptr,
     "counts only reads of bf16 weights", "Goon App. D"},
    {"hardware.seconds_to_read_memory", "time to read the whole memory once", "s", nullptr,
     "lower bound of a decode step of a model that fills the memory", "Goon (7.2)"},
    {"hardware.link_ridge", "FLOPs per byte sent above which compute is the bottleneck instead of the link",
     "FLOP/byte", nullptr, "dense bf16 peak, intra-node link", "Goon App. D"},
};

/// The symbols used in an expression.
std::vector<Symbol> used(const std::string& expression, const std::vector<Symbol>& symbols) {
  std::vector<Symbol> some;
  for (const std::string& name : identifiers(expression))
    for (const Symbol& s : symbols)
      if (s.name == name) some.push_back(s);
  return some;
}
Variant variant(std::string_view when, const std::string& expression, const std::vector<Symbol>& symbols) {
  return {std::string(when), {expression}, used(expression, symbols)};
}

}  // namespace

std::span<const Definition> general_definitions() { return general_table; }

std::vector<Variant> general_variants(const Definition& d) {
  std::vector<Variant> ways;
  if (const DeviceFormula* f = device_formula(d)) return {variant("", f->expression, device_symbols(nullptr))};
  if (d.path.starts_with("scaling.")) {
    for (const scaling::Fit& f : scaling::fits())
      if (const std::string e = scaling_expression(f, d.path); !e.empty())
        ways.push_back(variant(scaling::name(f), e, scaling_symbols()));
    return ways;
  }
  const auto op = parse<CollectiveOp>(d.path.substr(d.path.find('.') + 1));
  for (const CollectiveFormula& s : collective_formulas)
    if (op == s.op) ways.push_back(variant(name(s.algorithm), s.expression, collective_symbols()));
  for (const TorusFormula& f : torus_formulas)
    if (op == f.op) ways.push_back(variant("torus", f.expression, collective_symbols()));
  return ways;
}

std::optional<Explanation> device_explanation(const HardwareCard& card, const Definition& d) {
  const DeviceFormula* f = device_formula(d);
  if (f == nullptr) return std::nullopt;
  const Formula formula{f->expression};
  std::vector<Symbol> symbols = used(formula.expression, device_symbols(&card.cluster));
  for (const Symbol& s : symbols)
    if (s.value == "0") return std::nullopt;
  std::vector<Piece> numbers = substituted(formula, symbols);
  return Explanation{
      &d, formula, std::move(symbols), std::move(numbers), {"value", "", f->value(card.cluster), Unit::none, ""}};
}

}  // namespace llmcalc::explain
