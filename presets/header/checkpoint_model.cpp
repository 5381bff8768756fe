#include "presets/header/checkpoint_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "presets/formats/held_formats.hpp"
#include "presets/formats/weight_formats.hpp"
#include "presets/header/model_groups.hpp"
#include "text/counted.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Totals of the tensors of one group.
struct Holding {
  Count tensors = 0, parameters = 0;
  Bytes bytes{};
  bool counted = true;          ///< whether the parameter count is complete: no tensor packs several values per element
  std::set<std::string> types;  ///< types of the tensors, as named in the file
  std::string largest;          ///< name of the largest tensor
  Bytes largest_bytes{};
};

void add_to(Holding& h, const TensorsOfType& k, const TensorGroup& g) {
  const TensorType& type = *k.first->type;
  if (h.tensors == 0 || type.bytes > h.largest_bytes) {
    h.largest = k.first->name;
    h.largest_bytes = type.bytes;
  }
  h.tensors += k.tensors;
  h.bytes += Bytes(mul(k.tensors, type.bytes.value));
  h.types.insert(type.format);
  if (!g.parameter) return;
  h.counted = h.counted && !g.packed && type.dtype;
  h.parameters = add(h.parameters, mul(k.tensors, type.numbers));
}

/// The tensors of a model, or of its MTP modules, by component.
struct ByComponent {
  std::array<Holding, component_count> by{};
  HeldComponents held{};

  void add(Component c, const TensorsOfType& k, const TensorGroup& g) {
    const TensorType& type = *k.first->type;
    add_to(by[static_cast<std::size_t>(c)], k, g);
    held[c].bytes += Bytes(mul(k.tensors, type.bytes.value));
    if (g.parameter && !g.packed && type.dtype) held.add_numbers(c, *type.dtype, mul(k.tensors, type.numbers));
  }
  const Holding& of(Component c) const { return by[static_cast<std::size_t>(c)]; }
  bool empty() const {
    return std::all_of(by.begin(), by.end(), [](const Holding& h) { return h.tensors == 0; });
  }
};

/// The tensors of one type, and their group.
struct GroupedTensors {
  TensorsOfType all;
  TensorGroup group;
  const CheckpointTensor& first() const { return *all.first; }
};

std::vector<GroupedTensors> grouped_tensors(const Checkpoint& c, const ModelGroups& groups) {
  std::vector<GroupedTensors> out;
  for (const TensorsOfType& k : c.tensors.by_type()) out.push_back({k, groups.of(*k.first)});
  return out;
}

/// A checkpoint's tensors: the tensors of each component, and the tensors outside the model.
class Holdings {
 public:
  explicit Holdings(const std::vector<GroupedTensors>& tensors) {
    for (const auto& [k, g] : tensors) {
      if (g.component)
        model_.add(*g.component, k, g);
      else if (g.of_modules)
        modules_.add(*g.of_modules, k, g);
      else
        add_to(beside_[std::string(g.name)], k, g);
    }
  }
  const Holding& of(Component c) const { return model_.of(c); }
  const HeldComponents& held() const { return model_.held; }
  const ByComponent& modules() const { return modules_; }
  bool packed() const {
    return std::any_of(model_.by.begin(), model_.by.end(), [](const Holding& h) { return !h.counted; });
  }
  /// Tensors outside the model, by group name.
  const std::map<std::string, Holding>& beside() const { return beside_; }

 private:
  ByComponent model_, modules_;
  std::map<std::string, Holding> beside_;
};

[[noreturn]] void refuse(const ModelCard& card, const Checkpoint& c, const std::string& what) {
  if (c.is_gguf() && card.source == c.where)
    throw InputError(fmt::format(
        "the keys and the tensors of '{}' disagree: {}; the file is damaged, or its model differs from its stated "
        "architecture",
        c.where, what));
  throw InputError(fmt::format("{} and the tensors of '{}' disagree: {}; they belong to different models", card.source,
                               c.where, what));
}

/// Checks the number of layers that occur in tensor names, excluding MTP modules.
void check_layers(const ModelCard& card, const Checkpoint& c, const ModelGroups& groups,
                  const std::vector<GroupedTensors>& tensors) {
  Count found = 0;
  for (const GroupedTensors& t : tensors) {
    const auto layer = groups.layer(t.first());
    const auto part = t.group.component;
    if (!layer || !part || (!is_inside_block(*part) && *part != Component::norm)) continue;
    found = std::max(found, *layer < max_layers ? *layer + 1 : max_layers + 1);
  }
  const Count stored = card.arch.layers - card.arch.repeats.layers.size();
  if (found != 0 && found != stored) refuse(card, c, fmt::format("{} layers versus {}", stored, found));
}

/// Whether the tensor is the token embedding rather than another table or matrix of the embedding component.
bool is_token_embedding(const CheckpointTensor& t, const TensorGroup& g) {
  static constexpr std::array<std::string_view, 4> others{"proj", "token_type", "per_layer", "altup"};
  return g.component == Component::embedding && g.parameter && t.type->shape.size() == 2 && t.type->dtype &&
         layer_index(t.name) == std::nullopt && std::none_of(others.begin(), others.end(), [&](std::string_view other) {
           return t.name.find(other) != std::string::npos;
         });
}

void check_table(const ModelCard& card, const Checkpoint& c, const std::vector<GroupedTensors>& tensors) {
  const Arch& a = card.arch;
  for (const GroupedTensors& t : tensors) {
    const std::vector<Count>& shape = t.first().type->shape;
    if (is_token_embedding(t.first(), t.group) && shape != std::vector<Count>{a.vocabulary, a.embedding_width})
      refuse(card, c,
             fmt::format("a token embedding of {} x {} versus {}, which is {} x {}", a.vocabulary, a.embedding_width,
                         in_quotes(t.first().name), shape[0], shape[1]));
  }
}

/// Number of learned values that a GGUF file stores as keys: the two scalars of xIELU in each layer (llama.cpp,
/// conversion/apertus.py).
Count learned_in_keys(const Checkpoint& c, const Arch& a) {
  return c.is_gguf() && a.activation == Activation::xielu ? mul(2, a.layers) : 0;
}

/// Maximum number of parameters in unrecognized tensors, which may belong to missing parts. Unlimited if these
/// tensors are packed.
Count unrecognized_numbers(const Holdings& all) {
  const auto found = all.beside().find(std::string(unknown_group));
  if (found == all.beside().end()) return 0;
  return found->second.counted ? found->second.parameters : std::numeric_limits<Count>::max();
}

/// Checks that every part of the model has tensors. For a missing part, adds a caveat if unrecognized tensors may
/// contain it, and otherwise throws InputError.
void check_parts(ModelCard& card, const Checkpoint& c, const Holdings& all) {
  const ComponentBytes engine = component_numbers(card.arch);
  const Count elsewhere = unrecognized_numbers(all);
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto part = static_cast<Component>(i);
    const Count wanted = engine[part].value;
    if (wanted == 0 || all.of(part).tensors > 0) continue;
    const std::string what = fmt::format("{} parameters of {} versus none", wanted, component_name(part));
    if (wanted > elsewhere) refuse(card, c, what);
    card.caveats.push_back(fmt::format("{} and its tensors differ: {}", card.source, what));
  }
}

/// Whether a component has elements and all of them have 16 bits or more.
bool is_wide(const HeldTensors& t) {
  return !t.numbers.empty() && std::all_of(t.numbers.begin(), t.numbers.end(), [](const auto& row) {
    const DType format(row.first);
    return format.plain() && whole_bits(format.format()) >= 16;
  });
}

/// Safetensors types that store packed values, by format; both are prefixes of names. GPTQ, AWQ and compressed-tensors
/// pack int4 into int32; ModelOpt and bitsandbytes pack 4 bits into bytes.
struct PackedType {
  std::string_view format;
  std::array<std::string_view, 5> types;  ///< type prefixes; unused entries are empty
};
constexpr std::array packed_types{
    PackedType{"fp8", {"F8"}},
    PackedType{"mxfp8", {"F8", "U8"}},
    PackedType{"gptq", {"I32", "U32", "I16"}},
    PackedType{"awq", {"I32", "U32", "I16"}},
    PackedType{"int4-", {"I32", "U32", "I16", "I8", "U8"}},
    PackedType{"int8", {"I32", "U32", "I16", "I8", "U8"}},
    PackedType{"nvfp4", {"U8", "I8", "F4"}},
    PackedType{"mxfp4", {"U8", "I8", "F4", "U32"}},
    PackedType{"nf4", {"U8", "I8"}},
};

/// Whether a tensor of one of these types may contain values of the format. True for unknown formats.
bool may_hold(const std::set<std::string>& types, DType format) {
  const auto row = std::find_if(packed_types.begin(), packed_types.end(),
                                [&](const PackedType& p) { return format.name().starts_with(p.format); });
  if (row == packed_types.end()) return true;
  return std::any_of(types.begin(), types.end(), [&](const std::string& type) {
    return std::any_of(row->types.begin(), row->types.end(),
                       [&](std::string_view t) { return !t.empty() && type.starts_with(t); });
  });
}

/// Checks packed tensors against the format in the config's quantization block, if the config has one.
void check_packed(ModelCard& card, const Checkpoint& c, const Holdings& all) {
  if (c.is_gguf()) return;
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto part = static_cast<Component>(i);
    const Holding& h = all.of(part);
    if (h.tensors == 0 || !is_low_precision(part)) continue;
    const DType said = card.weights.value_or(WeightFormats())[part];
    const std::string types = fmt::format("{}", fmt::join(h.types, ", "));
    const bool wide = said.plain() && whole_bits(said.format()) >= 16;
    if (wide && !h.counted)
      card.caveats.push_back(
          fmt::format("{} states no quantization, but tensors of {} are packed ({}); their bytes are counted, and "
                      "matmuls use 16 bits",
                      card.source, component_name(part), types));
    else if (!wide && !may_hold(h.types, said))
      refuse(card, c,
             fmt::format("{} of {} in the quantization block versus tensors of {}", said.name(), component_name(part),
                         types));
  }
}

/// Replaces the quantization block's format for every component whose tensors are not quantized. Throws InputError if
/// the checkpoint is not quantized at all.
void check_formats(ModelCard& card, const Checkpoint& c, const Holdings& all) {
  if (!card.weights) return;
  std::vector<Component> wide;
  bool narrow = false;
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto part = static_cast<Component>(i);
    if (!is_low_precision(part) || (*card.weights)[part].plain() || all.of(part).tensors == 0) continue;
    const bool unpacked = all.of(part).counted && is_wide(all.held()[part]);
    narrow = narrow || !unpacked;
    if (unpacked) wide.push_back(part);
  }
  const WeightFormats stored = most_common_formats(all.held(), card.arch);
  for (const Component part : wide) {
    const std::string what = fmt::format("{} of {} in the quantization block versus {}", (*card.weights)[part].name(),
                                         component_name(part), stored[part].name());
    if (!narrow) refuse(card, c, what);
    card.caveats.push_back(fmt::format("{} and its tensors differ: {}, which is used", card.source, what));
    (*card.weights)[part] = stored[part];
  }
}

/// Checks the parameter count of each component, allowing for missing parameters in unrecognized tensors.
void check_numbers(ModelCard& card, const Checkpoint& c, const Holdings& all) {
  const ComponentBytes engine = component_numbers(card.arch);
  const Count elsewhere = unrecognized_numbers(all);
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto part = static_cast<Component>(i);
    const Holding& h = all.of(part);
    const Count keys = part == Component::mlp ? learned_in_keys(c, card.arch) : 0;
    const Count wanted = engine[part].value - keys;
    if (!h.counted || h.parameters == 0 || h.parameters == wanted) continue;
    const std::string what = fmt::format("{} parameters of {} versus {}", wanted, component_name(part), h.parameters);
    if (h.parameters > wanted || wanted - h.parameters > elsewhere) refuse(card, c, what);
    card.caveats.push_back(fmt::format("{} and its tensors differ: {}", card.source, what));
  }
}

/// Formats by component: the config's formats if it is quantized or if tensors pack values; otherwise the most common
/// format among the tensors' elements.
WeightFormats stored_formats(const ModelCard& card, const Holdings& all) {
  if (card.weights && (all.packed() || !card.weights->plain())) return card.weights->formats_alone();
  return most_common_formats(all.held(), card.arch);
}

/// Adds a caveat if the parameter count of the modules' tensors differs from the computed count. The bytes of the
/// tensors are counted either way.
void check_modules(ModelCard& card, const ByComponent& modules) {
  const ComponentBytes engine = component_numbers(card.arch, Owner::modules);
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto part = static_cast<Component>(i);
    const Holding& h = modules.of(part);
    if (h.counted && h.parameters != engine[part].value)
      card.caveats.push_back(fmt::format("{} and its {} differ: {} parameters of {} versus {}", card.source,
                                         prediction_group, engine[part].value, component_name(part), h.parameters));
  }
}

/// Sets the bytes of MTP modules from their tensors or, if the checkpoint has no such tensors, from the config.
void hold_modules(ModelCard& card, WeightFormats& w, const ByComponent& modules) {
  if (card.arch.mtp.modules == 0) return;
  if (!modules.empty()) {
    check_modules(card, modules);
    return hold_bytes(w, card.arch, modules.held, Owner::modules);
  }
  const ComponentBytes said = held_bytes(card.arch, card.weights.value_or(w), Owner::modules);
  HeldComponents all;
  for (std::size_t i = 0; i < component_count; ++i)
    all[static_cast<Component>(i)].bytes = said[static_cast<Component>(i)];
  hold_bytes(w, card.arch, all, Owner::modules);
}

/// Whether the tensors have exactly as many parameters as the config's encoders.
bool are_counted(const MediaEncoders& media_encoders, const Holding& h) {
  return h.counted && h.parameters == media_encoders.total();
}

/// Adds caveats about tensors outside the model. The bytes of encoders are the bytes of their tensors, even if the
/// config does not describe the encoders.
void tell_beside(ModelCard& card, const Holdings& all) {
  for (const auto& [name, h] : all.beside()) {
    const bool seen = name == media_encoders_group;
    if (seen) card.media_encoders.held = h.bytes;
    if (!seen || !are_counted(card.media_encoders, h))
      card.caveats.push_back(fmt::format("{}: {} of {} bytes, the largest {}, {} not counted{}", name,
                                         counted(h.tensors, "tensor"), h.bytes.value, in_quotes(h.largest),
                                         h.tensors == 1 ? "is" : "are", seen ? " but included in memory" : ""));
  }
}

}  // namespace

void add_checkpoint(ModelCard& card, const Checkpoint& c) {
  const Arch arch = card.arch;
  const ModelGroups groups(c, arch);
  const std::vector<GroupedTensors> tensors = grouped_tensors(c, groups);
  check_layers(card, c, groups, tensors);
  check_table(card, c, tensors);
  const Holdings all(tensors);
  check_parts(card, c, all);
  check_numbers(card, c, all);
  check_formats(card, c, all);
  check_packed(card, c, all);
  WeightFormats w = stored_formats(card, all);
  hold_bytes(w, card.arch, all.held());
  hold_modules(card, w, all.modules());
  card.weights = w;
  card.caveats.insert(card.caveats.end(), c.caveats.begin(), c.caveats.end());
  tell_beside(card, all);
}

}  // namespace llmcalc
