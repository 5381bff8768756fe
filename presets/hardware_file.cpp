#include "presets/hardware_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "text/json_schema.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {

namespace {

using json::Object;

/// A kind of quantity as hardware files have it: its parser, and an example.
template <typename Parse>
struct Written {
  Parse parse;
  std::string_view example;

  auto read(const Object& o, std::string_view key) const {
    return parse(o.text(key, example), fmt::format("{}, {}", o.where(), in_quotes(key)), Bare::refused);
  }
};
constexpr Written written_bytes{parse_bytes, "80 GB"};
constexpr Written written_rate{parse_rate, "3.35 TB/s"};
constexpr Written written_flops_rate{parse_flops_rate, "989 TFLOP/s"};
constexpr Written written_seconds{parse_seconds, "1 us"};
constexpr Written written_watts{parse_watts, "700 W"};

/// A hardware file being read, and the sources of its values.
class Sheet {
 public:
  Sheet(const json::Value& value, const std::string& where)
      : file(value, where),
        card{},
        default_source_(file.text_or("source", "")),
        sources_(file.has("sources") ? file.object("sources") : Object(no_sources(), where + ", \"sources\"")) {}

  Object file;
  HardwareCard card;

  /// Records the source of `path` ("memory.capacity").
  void cite(const std::string& path) {
    const std::string source = sources_.text_or(path, default_source_);
    if (source.empty()) return void(++card.unsourced);
    card.sources.emplace_back(path, source);
  }

  /// Reads the quantity block[key] and records its source.
  template <typename Parse>
  auto quantity(const Object& block, std::string_view key, const std::string& path, Written<Parse> written) {
    const auto value = written.read(block, key);
    cite(path);
    return value;
  }

  void finish() {
    file.refuse_unread();
    sources_.refuse_unread();
  }

 private:
  static const json::Value& no_sources() {
    static const json::Value none = json::Value::object();
    return none;
  }

  std::string default_source_;
  Object sources_;
};

void read_names(Sheet& s) {
  HardwareCard& c = s.card;
  c.name = s.file.text("name");
  c.title = s.file.text_or("title", c.name);
  if (s.file.has("aliases")) c.aliases = s.file.texts("aliases");
  c.vendor = s.file.text_or("vendor", "");
  c.architecture = s.file.text_or("architecture", "");
  c.form_factor = s.file.text_or("form_factor", "");
  c.notes = s.file.text_or("notes", "");
}

/// Reads a size of at most `whole`; 0 if absent.
Bytes read_part(Sheet& s, const Object& memory, const char* key, Bytes whole) {
  if (!memory.has(key)) return {};
  const Bytes part = s.quantity(memory, key, std::string("memory.") + key, written_bytes);
  if (part > Bytes() && part <= whole) return part;
  throw InputError(fmt::format("{}: \"{}\" must be above zero and at most {} bytes", memory.where(), key, whole.value));
}

void read_memory(Sheet& s) {
  const Object memory = s.file.object("memory");
  s.card.cluster.device.memory = s.quantity(memory, "capacity", "memory.capacity", written_bytes);
  if (s.card.cluster.device.memory == Bytes(0))
    throw InputError(memory.where() + ": \"capacity\" is zero; set the memory size of the device");
  s.card.cluster.device.bandwidth = s.quantity(memory, "bandwidth", "memory.bandwidth", written_rate);
  s.card.memory_type = memory.text_or("type", "");
  s.card.driver = read_part(s, memory, "driver", s.card.cluster.device.memory);
  s.card.visible =
      read_part(s, memory, "visible", s.card.driver > Bytes() ? s.card.driver : s.card.cluster.device.memory);
  if (memory.has("usable")) {
    s.card.usable = memory.number_or("usable", 0);
    if (s.card.usable <= 0 || s.card.usable > 1)
      throw InputError(memory.where() + ": \"usable\" must be a fraction of the memory, above 0 and at most 1");
    s.cite("memory.usable");
  }
  memory.refuse_unread();
}

void refuse_sparse(const Object& matmul) {
  for (const auto& [key, value] : matmul.value().items())
    if (lower(key + value.dump()).find("spars") != std::string::npos)
      throw InputError(fmt::format("{}: {} is a sparse peak; set the dense peak, which is usually half of it",
                                   matmul.where(), in_quotes(key)));
}

void read_matmul(Sheet& s) {
  const Object matmul = s.file.object("matmul");
  refuse_sparse(matmul);
  bool any = false;
  for (std::size_t i = 0; i < peak_count; ++i) {
    if (!matmul.has(peak_names[i])) continue;
    s.card.cluster.device.peaks[i] =
        s.quantity(matmul, peak_names[i], fmt::format("matmul.{}", peak_names[i]), written_flops_rate);
    any = true;
  }
  matmul.refuse_unread();
  if (!any) throw InputError(matmul.where() + ": expected the dense peak of at least one number format");
}

void unknown(Sheet& s, std::string_view what) { s.card.unknown.emplace_back(what); }

/// Reads the axes of a torus link. Their product must be the number of devices on the link.
void read_torus(Sheet& s, const Object& o, const std::string& key, Link& link) {
  o.expects("topology", [] { return json::Expected{{{"type", "string"}}, json::Value::array({"switch", "torus"})}; });
  const std::string topology = o.text_or("topology", "");
  if (topology != "torus") {
    if (o.has("dimensions") || lower(topology).find("torus") != std::string::npos)
      throw InputError(
          fmt::format("{}: a torus requires \"topology\": \"torus\" and \"dimensions\", the devices along each axis, "
                      "such as [16, 16]; set both, or another topology",
                      o.where()));
    return;
  }
  InplaceVector<Count, 3> sides;
  const std::vector<Count> dimensions = o.counts("dimensions");
  link.wraps = o.has("wraps") ? o.positive("wraps") : 0;
  s.cite(key + ".dimensions");
  const bool possible = !dimensions.empty() && dimensions.size() <= sides.capacity &&
                        std::all_of(dimensions.begin(), dimensions.end(), [](Count n) { return n > 1 && n <= 1024; });
  if (!possible || key != "link" || link.reduces)
    throw InputError(fmt::format(
        "{}: a torus must be under \"link\", without \"reduces\" and with one to three \"dimensions\" of 2 to "
        "1024 devices each",
        o.where()));
  Count all = 1;
  for (const Count n : dimensions) all = mul(all, sides.push(n));
  if (all != link.ranks)
    throw InputError(fmt::format("{}: \"dimensions\" {} imply {} devices, but \"ranks\" is {}; make the two equal",
                                 o.where(), fmt::join(dimensions, " x "), all, link.ranks));
  link.torus = whole_torus(sides);
}

/// Reads "link" or "network". A missing "ranks" is reported as unknown only for a link.
Link read_link(Sheet& s, const std::string& key) {
  Link link;
  if (!s.file.has(key)) {
    unknown(s, key);
    return link;
  }
  const Object o = s.file.object(key);
  link.bandwidth = s.quantity(o, "bandwidth", key + ".bandwidth", written_rate);
  if (o.has("latency"))
    link.latency = s.quantity(o, "latency", key + ".latency", written_seconds);
  else
    unknown(s, key + " latency");
  if (o.has("ranks")) {
    link.ranks = o.positive("ranks");
    s.cite(key + ".ranks");
  } else if (key == "link") {
    link.ranks = 1;  // not used, because the number of devices is unknown
    unknown(s, "link ranks");
  }
  if (o.has("reduces")) {
    link.reduces = o.flag("reduces");
    s.cite(key + ".reduces");
  }
  const std::string type = o.text_or("type", "");
  if (key == "link") s.card.link_type = type;
  read_torus(s, o, key, link);
  o.refuse_unread();
  return link;
}

void read_pcie(Sheet& s) {
  if (!s.file.has("pcie")) return unknown(s, "pcie");
  const Object pcie = s.file.object("pcie");
  s.card.pcie = s.quantity(pcie, "bandwidth", "pcie.bandwidth", written_rate);
  pcie.text_or("type", "");
  pcie.refuse_unread();
}

/// Reads the link to the host, which is PCI Express unless the file states another.
void read_host(Sheet& s) {
  HostSide& side = s.card.cluster.device.host;
  side.link = s.card.pcie;
  if (!s.file.has("host")) return;
  const Object host = s.file.object("host");
  if (host.has("bandwidth")) side.link = s.quantity(host, "bandwidth", "host.bandwidth", written_rate);
  if (host.has("memory")) side.memory = s.quantity(host, "memory", "host.memory", written_rate);
  if (host.has("capacity")) side.capacity = s.quantity(host, "capacity", "host.capacity", written_bytes);
  host.text_or("type", "");
  host.refuse_unread();
}

void read_prices(Sheet& s) {
  s.file.expects("prices", [&] { return json::objects_at(s.file.where() + ", \"prices\"[0]"); });
  const json::Value* list = s.file.find("prices");
  if (list == nullptr || list->empty()) return unknown(s, "price");
  if (!list->is_array()) throw InputError(s.file.where() + ", \"prices\": expected a list of {\"price\", \"source\"}");
  for (const json::Value& v : *list) {
    const Object price(v, fmt::format("{}, \"prices\"[{}]", s.file.where(), s.card.prices.size()));
    s.card.prices.push_back({.usd_per_hour = parse_price(price.text("price", "2 USD/h"), price.where()),
                             .source = price.text_or("source", ""),
                             .seller = price.text_or("seller", ""),
                             .date = price.text_or("date", ""),
                             .recalled = price.flag_or("recalled", false)});
    price.refuse_unread();
  }
}

void read_cache_and_power(Sheet& s) {
  if (s.file.has("cache"))
    s.card.cluster.device.cache = s.quantity(s.file, "cache", "cache", written_bytes);
  else
    unknown(s, "cache");
  if (s.file.has("power"))
    s.card.watts = s.quantity(s.file, "power", "power", written_watts);
  else
    unknown(s, "power");
}

/// A measured fraction of a datasheet rate; 1 if it was not measured.
double share(const Object& o, std::string_view key) {
  const double f = o.number_or(key, 1);
  if (f <= 0 || f > 1)
    throw InputError(
        fmt::format("{}, {}: expected a fraction above 0 and at most 1, got {}", o.where(), in_quotes(key), f));
  return f;
}

double not_negative(const Object& o, std::string_view key) {
  const double x = o.number_or(key, 0);
  if (x < 0) throw InputError(fmt::format("{}, {}: expected 0 or more, got {}", o.where(), in_quotes(key), x));
  return x;
}

/// Calls `f` for each number format ("fp32", "bf16", ...) in the object `key`.
template <typename F>
void each_format(const Object& o, const char* key, const F& f) {
  if (!o.has(key)) return;
  const Object in = o.object(key);
  for (std::size_t i = 0; i < peak_count; ++i)
    if (in.has(peak_names[i])) f(in, i);
  in.refuse_unread();
}

void read_cores(const Object& o, const char* key, std::array<CoreRates, peak_count>& to,
                FlopsPerSecond CoreRates::*way) {
  each_format(o, key,
              [&](const Object& in, std::size_t i) { to[i].*way = written_flops_rate.read(in, peak_names[i]); });
}

/// The schema of one number for all formats, or an object of numbers.
json::Expected number_or_formats(const std::string& where) {
  return {{{"anyOf", {{{"type", "number"}}, json::schema_at(where)}}}, json::Value::array({1, json::Value::object()})};
}

/// Fractions by number format. The file has a single fraction for all formats, or one per format.
std::array<double, peak_count> shares(const Object& o, const char* key) {
  o.expects(key, [&] { return number_or_formats(o.where() + ", " + in_quotes(key)); });
  const json::Value* v = o.find(key);
  if (v == nullptr || !v->is_object()) return for_each_format(share(o, key));
  std::array<double, peak_count> all = for_each_format(1.0);
  each_format(o, key, [&](const Object& in, std::size_t i) { all[i] = share(in, peak_names[i]); });
  return all;
}

/// PCI Express link between cards that are not connected by a bridge, in a server with eight slots. Absent if the card
/// has no bridge.
std::optional<Link> link_beyond_bridge(const HardwareCard& card, const Link& link) {
  constexpr Count slots = 8;
  const bool bridge = card.link_type.starts_with("NVLink") && link.ranks > 1 && link.ranks < slots;
  if (!bridge || card.pcie.value <= 0 || card.form_factor.find("PCIe") == std::string::npos) return std::nullopt;
  return Link{.ranks = slots, .bandwidth = card.pcie, .latency = Seconds(1e-6)};
}

/// Reads the link levels: the link inside a node, the network between nodes, and, if the network has "ranks", a spine
/// that connects such networks. The spine's bandwidth is per device, after oversubscription. Cards with a bridge but
/// no network reach other cards over PCI Express.
void read_levels(Sheet& s) {
  const Link link = read_link(s, "link"), network = read_link(s, "network");
  if (link.bandwidth.value > 0) s.card.cluster.levels.push(link);
  if (network.bandwidth.value > 0) s.card.cluster.levels.push(network);
  if (const auto pcie = link_beyond_bridge(s.card, link); pcie && network.bandwidth.value <= 0) {
    s.card.cluster.levels.push(*pcie);
    s.card.bridged = true;
  }
  if (!s.file.has("spine")) return;
  const Link spine = read_link(s, "spine");
  if (network.bandwidth.value <= 0 || network.ranks <= link.ranks)
    throw InputError(
        fmt::format("{}: \"spine\" connects networks; set \"ranks\" of \"network\" to the devices of one network, "
                    "more than the {} of \"link\"",
                    s.file.where(), link.ranks));
  s.card.cluster.levels.push(spine);
}

/// Marks the formats for which the object states fractions.
std::array<bool, peak_count> formats_of(const Object& o, const char* key) {
  const json::Value* v = o.find(key);
  std::array<bool, peak_count> all = for_each_format(v != nullptr && !v->is_object());
  if (v != nullptr && v->is_object()) each_format(o, key, [&](const Object&, std::size_t i) { all[i] = true; });
  return all;
}

void read_achieved(Sheet& s) {
  if (!s.file.has("achieved")) return unknown(s, "achieved");
  const Object o = s.file.object("achieved");
  Achieved& a = s.card.cluster.device.achieved;
  a.present = true;
  a.matmul = shares(o, "matmul");
  a.unaligned = shares(o, "unaligned");
  a.memory = share(o, "memory");
  a.links.inside = a.links.between = share(o, "link");
  const auto time = [&](std::string_view key, Seconds& to) {
    if (o.has(key)) to = written_seconds.read(o, key);
  };
  time("launch", a.launch);
  time("launch_backward", a.launch_backward);
  time("recorded", a.recorded);
  time("recorded_backward", a.recorded_backward);
  read_cores(o, "attention", a.flash, &CoreRates::forward);
  read_cores(o, "attention_backward", a.flash, &CoreRates::backward);
  read_cores(o, "plain_attention", a.plain, &CoreRates::forward);
  read_cores(o, "plain_attention_backward", a.plain, &CoreRates::backward);
  read_cores(o, "naive_attention", a.naive, &CoreRates::forward);
  read_cores(o, "naive_attention_backward", a.naive, &CoreRates::backward);
  each_format(o, "exposed", [&](const Object& in, std::size_t i) { a.exposed[i] = not_negative(in, peak_names[i]); });
  each_format(o, "half_matmul",
              [&](const Object& in, std::size_t i) { a.half_matmul[i] = not_negative(in, peak_names[i]); });
  if (o.has("overhead")) a.overhead = written_bytes.read(o, "overhead");
  if (o.has("cache")) a.cache = written_rate.read(o, "cache");
  a.functions = not_negative(o, "functions");
  s.card.achieved_how = o.text("how");
  if (s.card.achieved_how.empty()) throw InputError(o.where() + ": \"how\" is empty; describe the measurement");
  s.card.measured = {.rates = a,
                     .products = formats_of(o, "matmul"),
                     .memory = o.has("memory"),
                     .links = o.has("link"),
                     .engine = o.text_or("engine", "")};
  o.refuse_unread();
}

/// A ratio of measured to estimated times. Ratios outside of 1/100 to 100 are mistakes.
std::optional<double> read_ratio(const Object& o, const char* key) {
  if (!o.has(key)) return std::nullopt;
  const double ratio = o.number_or(key, 0);
  if (ratio < 0.01 || ratio > 100)
    throw InputError(
        fmt::format("{}, {}: expected a ratio from 0.01 to 100, got {}", o.where(), in_quotes(key), ratio));
  return ratio;
}

void read_served(Sheet& s) {
  if (!s.file.has("served")) return;
  const Object o = s.file.object("served");
  s.card.served = {.engine = o.text("engine"),
                   .version = o.text_or("version", ""),
                   .date = o.text_or("date", ""),
                   .model = o.text("model"),
                   .file = o.text("file"),
                   .decode = read_ratio(o, "decode"),
                   .prompt = read_ratio(o, "prompt"),
                   .prompt_class = o.text_or("prompt_class", "")};
  o.refuse_unread();
}

}  // namespace

HardwareCard read_hardware_file(const json::Value& value, const std::string& where) {
  Sheet s(value, where);
  read_names(s);
  read_memory(s);
  read_matmul(s);
  read_cache_and_power(s);
  read_pcie(s);
  read_levels(s);
  read_host(s);
  s.card.host = s.card.cluster.device.host;
  read_prices(s);
  read_achieved(s);
  read_served(s);
  s.finish();
  s.card.source = where;
  return s.card;
}

}  // namespace llmcalc
