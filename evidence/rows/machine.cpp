#include "evidence/rows/machine.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "evidence/rows/json_fields.hpp"
#include "presets/load.hpp"

namespace llmcalc {
namespace {

/// Preset by name. Each preset is loaded once.
const HardwareCard& preset(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, HardwareCard> read;
  const std::lock_guard lock(mutex);
  const auto known = read.find(name);
  return known != read.end() ? known->second : read.emplace(name, load_hardware(name)).first->second;
}

/// Lists the JSON fields of a device. Their defaults are the values of the preset `like`.
template <typename Io, typename Card>
void device_fields(Io& io, Card& card, const HardwareCard& like) {
  io("name", card.name, like.name);
  io("title", card.title, like.title);
  auto& d = card.cluster.device;
  const Device& usual = like.cluster.device;
  io("memory_bytes", d.memory, usual.memory);
  io("cache_bytes", d.cache, usual.cache);
  io("bandwidth_bytes_per_s", d.bandwidth, usual.bandwidth);
  io.object("peak_flops_per_s", [&](auto& peaks) {
    for (std::size_t i = 0; i < peak_count; ++i) peaks(std::string(peak_names[i]).c_str(), d.peaks[i], usual.peaks[i]);
  });
}

bool same_torus(const Link& a, const Link& b) { return a.torus == b.torus && a.wraps == b.wraps; }

bool same_link(const Link& a, const Link& b) {
  return a.ranks == b.ranks && a.bandwidth == b.bandwidth && a.latency == b.latency && a.reduces == b.reduces &&
         same_torus(a, b);
}

bool same_links(const Cluster& a, const Cluster& b) {
  if (a.levels.size() != b.levels.size()) return false;
  for (std::size_t i = 0; i < a.levels.size(); ++i)
    if (!same_link(a.levels[i], b.levels[i])) return false;
  return true;
}

template <typename Io, typename L>
void link_fields(Io& io, L& link) {
  io("ranks", link.ranks);
  io("bandwidth_bytes_per_s", link.bandwidth);
  io("latency_s", link.latency);
  io("reduces", link.reduces);
}

Link innermost(const HardwareCard& card) { return card.cluster.levels.empty() ? Link{} : card.cluster.levels[0]; }

json::Value links_json(const HardwareCard& card, const HardwareCard& like) {
  json::Value all = json::Value::array();
  for (const Link& link : card.cluster.levels) {
    json::Value one = json::Value::object();
    FieldWriter io(one);
    link_fields(io, link);
    if (!link.torus.empty() && same_torus(link, innermost(like))) one["torus"] = true;
    all.push_back(std::move(one));
  }
  return all;
}

void read_links(const json::Object& o, const HardwareCard& like, HardwareCard& card) {
  const json::Value* list = o.find("links");
  if (list == nullptr) return;
  if (!list->is_array() || list->size() > card.cluster.levels.capacity)
    throw InputError(o.where() + ", \"links\": expected a list of at most three links");
  card.cluster.levels = {};
  for (const json::Value& v : *list) {
    const json::Object one(v, o.where() + ", \"links\"");
    Link link;
    FieldReader io(one);
    link_fields(io, link);
    if (one.flag_or("torus", false)) link.torus = innermost(like).torus, link.wraps = innermost(like).wraps;
    one.refuse_unread();
    card.cluster.levels.push(link);
  }
}

}  // namespace

json::Value machine_json(const HardwareCard& card, const std::string& like) {
  const HardwareCard& base = preset(like);
  json::Value v = json::Value::object();
  FieldWriter io(v);
  device_fields(io, card, base);
  if (!same_links(card.cluster, base.cluster)) v["links"] = links_json(card, base);
  if (v.empty()) return like;
  v["like"] = like;
  return v;
}

RowMachine read_machine(const json::Value& value, const std::string& where) {
  if (value.is_string()) {
    const std::string name = value.get<std::string>();
    HardwareCard card = load_hardware(name);
    return {card, card.name, true};
  }
  const json::Object o(value, where);
  const HardwareCard& like = preset(o.text("like"));
  RowMachine m{.card = like, .like = like.name};
  FieldReader io(o);
  device_fields(io, m.card, like);
  read_links(o, like, m.card);
  o.refuse_unread();
  m.preset = m.card.name == like.name;
  return m;
}

}  // namespace llmcalc
