#include "presets/weights_file.hpp"

#include <fmt/format.h>

#include "presets/formats/held_formats.hpp"
#include "presets/formats/weight_formats.hpp"
#include "text/names.hpp"

namespace llmcalc {

using json::Object;
using json::Value;

namespace {

/// Maximum accepted bytes of a component: 16 bytes per parameter, plus 1 GiB for other data.
Count most_bytes(const Arch& a, Component c, Owner owner) {
  return add(mul(16, component_numbers(a, owner)[c].value), Count{1} << 30);
}

constexpr std::string_view modules_key = "mtp";

Component held_component(const Object& o, const std::string& key) {
  if (key == component_name(Component::position)) return Component::position;
  const auto c = component_called(key);
  if (c && component_name(*c) == key) return *c;
  throw InputError(fmt::format("{}: unknown key {}; expected one of {}|position|{}", o.where(), in_quotes(key),
                               component_names(), modules_key));
}

void read_bytes_of(const Object& o, ModelCard& card, Owner owner) {
  HeldComponents all;
  const ComponentBytes alone = component_bytes(card.arch, *card.weights, owner);
  for (std::size_t i = 0; i < component_count; ++i)
    all[static_cast<Component>(i)].bytes = alone[static_cast<Component>(i)];
  for (const std::string& key : o.keys()) {
    if (owner == Owner::model && key == modules_key) continue;
    const Component c = held_component(o, key);
    const Count n = o.count(key), most = most_bytes(card.arch, c, owner);
    if (n > most)
      throw InputError(fmt::format("{}, {}: expected at most {} bytes (16 per parameter plus 1 GiB), got {}", o.where(),
                                   in_quotes(key), most, n));
    all[c].bytes = Bytes(n);
  }
  hold_bytes(*card.weights, card.arch, all, owner);
}

void put_bytes_of(Value& v, const ModelCard& card, Owner owner) {
  const ComponentBytes held = held_bytes(card.arch, *card.weights, owner);
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto c = static_cast<Component>(i);
    if (card.weights->is_held(c, owner)) v[std::string(component_name(c))] = held[c].value;
  }
}

}  // namespace

json::Expected stored_bytes_schema() {
  Value bytes = Value::object();
  for (const std::string& name : split_at_bars(component_names() + "|position"))
    bytes[name] = {{"type", "integer"}, {"minimum", 0}};
  Value modules{{"type", "object"}, {"properties", bytes}, {"additionalProperties", false}};
  Value all = modules;
  all["properties"][std::string(modules_key)] = std::move(modules);
  return {all, Value::array({Value::object()})};
}

void read_stored_bytes(const Object& o, ModelCard& card) {
  if (!card.weights)
    throw InputError(o.where() +
                     ": requires \"weights\", the number formats of these bytes; set "
                     "both");
  read_bytes_of(o, card, Owner::model);
  if (!o.has(modules_key)) return hold_modules_alike(*card.weights, card.arch);
  const Object modules = o.object(modules_key);
  if (card.arch.mtp.modules == 0) throw InputError(modules.where() + ": the model has no MTP modules; omit this key");
  read_bytes_of(modules, card, Owner::modules);
}

void read_products(const Object& o, ModelCard& card) {
  const DType t = format_called(o.text("format", "fp8"), o.where() + ", \"format\"");
  if (!is_operand_format(t.format()) || whole_bits(t.format()) >= 16)
    throw InputError(fmt::format("{}, \"format\": expected a matmul operand format of fewer than 16 bits, got {}",
                                 o.where(), t.name()));
  card.products = t;
  o.expects("of", [] { return json::words_among(split_at_bars(choice_names<NarrowPart>)); });
  if (o.has("of")) card.product_parts = {};
  for (const std::string& word : o.has("of") ? o.texts("of") : std::vector<std::string>()) {
    const auto part = parse<NarrowPart>(word);
    if (!part)
      throw InputError(
          fmt::format("{}, \"of\": expected {}, got {}", o.where(), choice_names<NarrowPart>, in_quotes(word)));
    card.product_parts.add(*part);
  }
  o.refuse_unread();
}

Value stored_bytes_json(const ModelCard& card) {
  Value v = Value::object();
  put_bytes_of(v, card, Owner::model);
  if (card.arch.mtp.modules > 0) put_bytes_of(v[modules_key] = Value::object(), card, Owner::modules);
  return v;
}

Value products_json(const ModelCard& card) {
  Value v = {{"format", card.products->name()}};
  for (const auto& row : choices<NarrowPart>)
    if (card.product_parts != NarrowParts::all() && card.product_parts.has(row.value)) v["of"].push_back(row.name);
  return v;
}

void check_weights(const ModelCard& card) {
  if (!card.weights || !card.arch.tied_head) return;
  const WeightFormats& w = *card.weights;
  if (w[Component::lm_head] != w[Component::embedding])
    throw InputError(
        fmt::format("{}, \"weights\": the head is tied to the embedding, but lm_head is {} and embedding {}; set "
                    "both to the same format",
                    card.source, w[Component::lm_head].name(), w[Component::embedding].name()));
}

}  // namespace llmcalc
