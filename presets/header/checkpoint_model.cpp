#include "presets/header/checkpoint_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "presets/header/tensor_group.hpp"
#include "presets/held_formats.hpp"
#include "presets/weight_formats.hpp"
#include "text/counted.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Tensors of one group.
struct Holding {
  Count tensors = 0, parameters = 0;
  Bytes bytes{};
  bool counted = true;  ///< every parameter's number is known: no tensor packs several numbers
  std::string largest;  ///< the name of the largest tensor
  Bytes largest_bytes{};
};

void add_to(Holding& h, const CheckpointTensor& t, const TensorGroup& g) {
  ++h.tensors;
  h.bytes += t.bytes;
  if (h.tensors == 1 || t.bytes > h.largest_bytes) {
    h.largest = t.name;
    h.largest_bytes = t.bytes;
  }
  if (!g.parameter) return;
  h.counted = h.counted && !g.packed && t.dtype;
  h.parameters = add(h.parameters, t.numbers);
}

/// A checkpoint's tensors by component, and those beside the model.
class Holdings {
 public:
  Holdings(const Checkpoint& c, const Arch& a, Count predicting) {
    for (const CheckpointTensor& t : c.tensors) {
      const TensorGroup g = tensor_group(t.name, predicting);
      if (g.component == Component::lm_head && a.tied_head)
        add_to(beside_["head tied to the token table"], t, g);
      else if (g.component)
        add_component(*g.component, t, g);
      else
        add_to(beside_[std::string(g.name)], t, g);
    }
  }
  const Holding& of(Component c) const { return by_[static_cast<std::size_t>(c)]; }
  const HeldComponents& held() const { return held_; }
  bool packed() const {
    return std::any_of(by_.begin(), by_.end(), [](const Holding& h) { return !h.counted; });
  }
  /// What is beside the model, by the group's name.
  const std::map<std::string, Holding>& beside() const { return beside_; }

 private:
  void add_component(Component c, const CheckpointTensor& t, const TensorGroup& g) {
    add_to(by_[static_cast<std::size_t>(c)], t, g);
    held_[c].bytes += t.bytes;
    if (g.parameter && !g.packed && t.dtype) held_.add_numbers(c, *t.dtype, t.numbers);
  }

  std::array<Holding, component_count> by_{};
  HeldComponents held_;
  std::map<std::string, Holding> beside_;
};

[[noreturn]] void refuse(const ModelCard& card, const Checkpoint& c, const std::string& what) {
  throw InputError(
      fmt::format("{} and the tensors of '{}' disagree: {}; they are of different models", card.source, c.where, what));
}

/// The number of layers in the tensors' names, those that predict further tokens left out.
void check_layers(const ModelCard& card, const Checkpoint& c, Count predicting) {
  Count found = 0;
  for (const CheckpointTensor& t : c.tensors) {
    const auto layer = layer_index(t.name);
    if (!layer || !tensor_group(t.name, predicting).component) continue;
    found = std::max(found, *layer < max_layers ? *layer + 1 : max_layers + 1);
  }
  if (found != 0 && found != card.arch.layers)
    refuse(card, c, fmt::format("{} layers against {}", card.arch.layers, found));
}

void check_table(const ModelCard& card, const Checkpoint& c) {
  const Arch& a = card.arch;
  for (const CheckpointTensor& t : c.tensors) {
    const TensorGroup g = tensor_group(t.name, 0);
    const bool table = g.component == Component::embedding && g.parameter && t.shape.size() == 2 && t.dtype &&
                       layer_index(t.name) == std::nullopt && t.name.find("project") == std::string::npos &&
                       t.name.find("token_types") == std::string::npos;
    if (table && t.shape != std::vector<Count>{a.vocabulary, a.embedding_width})
      refuse(card, c,
             fmt::format("a token table of {} x {} against {}, which is {} x {}", a.vocabulary, a.embedding_width,
                         in_quotes(t.name), t.shape[0], t.shape[1]));
  }
}

/// Numbers of every component. Where names are not recognised, their tensors may be the difference.
void check_numbers(ModelCard& card, const Checkpoint& c, const Holdings& all) {
  const ComponentBytes engine = component_numbers(card.arch);
  const bool known = !all.beside().contains(std::string(unknown_group));
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto part = static_cast<Component>(i);
    const Holding& h = all.of(part);
    const Count wanted = engine[part].value;
    if (!h.counted || h.parameters == 0 || h.parameters == wanted) continue;
    const std::string what = fmt::format("{} parameters of {} against {}", wanted, component_name(part), h.parameters);
    if (known) refuse(card, c, what);
    card.caveats.push_back(fmt::format("{} and its tensors differ: {}", card.source, what));
  }
}

/// The formats by component: the config's where tensors pack numbers or it is quantised, else those of most of the
/// tensors' numbers.
WeightFormats stored_formats(const ModelCard& card, const Holdings& all) {
  if (card.weights && (all.packed() || !card.weights->plain())) return card.weights->formats_alone();
  return most_common_formats(all.held(), card.arch);
}

/// Names what is beside the model, with its size.
void tell_beside(ModelCard& card, const Holdings& all) {
  for (const auto& [name, h] : all.beside())
    card.caveats.push_back(fmt::format("{}: {} of {} bytes, the largest {}, {} not counted", name,
                                       counted(h.tensors, "tensor"), h.bytes.value, in_quotes(h.largest),
                                       h.tensors == 1 ? "is" : "are"));
}

}  // namespace

void add_checkpoint(ModelCard& card, const Checkpoint& c) {
  const Count predicting = first_predicting_layer(c);
  check_layers(card, c, predicting);
  check_table(card, c);
  const Holdings all(c, card.arch, predicting);
  check_numbers(card, c, all);
  WeightFormats w = stored_formats(card, all);
  hold_bytes(w, card.arch, all.held());
  card.weights = w;
  card.caveats.insert(card.caveats.end(), c.caveats.begin(), c.caveats.end());
  tell_beside(card, all);
}

}  // namespace llmcalc
