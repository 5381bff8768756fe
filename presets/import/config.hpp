#pragma once
/// View of a Hugging Face config.json for the family importers. It supports several names per size and library
/// defaults for omitted keys, and distinguishes null from absent keys if the library does.

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/arch.hpp"
#include "text/json.hpp"

namespace llmcalc::import {

using KeyNames = std::initializer_list<std::string_view>;

/// Defaults of a family's config class for absent keys. kv_heads = 0 means equal to heads; head_dim = 0 means hidden /
/// heads.
struct Defaults {
  Count layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, mlp = 0, vocabulary = 0, context = 0;
  bool tied = false;
};

/// A size that a config omits, and the family's default for it.
struct Assumption {
  std::string key;
  Count value = 0;
};

class Config {
 public:
  /// `part`: whether this is a part of a composite config. Such a part omits sizes that equal the defaults of its
  /// class.
  Config(const json::Value& value, std::string where, bool part = false)
      : object_(value, std::move(where)), part_(part) {}

  /// Whether the key is present and not null.
  bool has(std::string_view key) const { return object_.has(key); }
  /// Whether the key is present, but null.
  bool is_null(std::string_view key) const;

  /// Size under any of `keys`. Throws InputError if it is null, or if it is absent from a config that is not part of
  /// another config, since transformers writes all of these sizes for a complete model.
  Count required(KeyNames keys, Count otherwise) const;
  /// Size under any of `keys`. If all are absent, returns `otherwise` and records it unless it is 0 or 1. Throws
  /// InputError if two keys disagree.
  Count size(KeyNames keys, Count otherwise) const;
  Count size(std::string_view key, Count otherwise) const { return size(KeyNames{key}, otherwise); }
  /// Like size(), for a size that may be 0.
  Count count(KeyNames keys, Count otherwise) const;
  Count count(std::string_view key, Count otherwise) const { return count(KeyNames{key}, otherwise); }
  /// Value of the first of `keys` that is present, even if other keys have different values.
  Count first_size(KeyNames keys, Count otherwise) const;
  bool flag(std::string_view key, bool otherwise) const { return object_.flag_or(key, otherwise); }
  double number(std::string_view key, double otherwise) const { return object_.number_or(key, otherwise); }
  std::string text(std::string_view key, std::string_view otherwise) const { return object_.text_or(key, otherwise); }
  std::vector<Count> counts(std::string_view key) const { return object_.counts(key); }
  std::vector<std::string> texts(std::string_view key) const { return object_.texts(key); }
  Config object(std::string_view key) const {
    Config c(*object_.find(key), where() + ", \"" + std::string(key) + '"', part_);
    c.assumed_ = assumed_;
    return c;
  }

  const json::Value* find(std::string_view key) const { return object_.find(key); }

  /// Marks keys as known but without effect.
  void ignore(KeyNames keys) const;
  /// All defaults used for omitted keys, even those that the model does not need.
  const std::vector<Assumption>& assumptions() const { return *assumed_; }
  /// Removes the recorded defaults of `keys`, because other keys in the config replace them.
  void forget(KeyNames keys) const;
  struct Unread {
    std::string_view key;
    const json::Value* value;
  };
  /// Keys that were never read, with their values. Excludes keys whose value is null, false, 0 or empty. unread()
  /// returns only the keys.
  std::vector<Unread> unread_values() const;
  std::vector<std::string> unread() const;
  /// Unread keys that may change a size (harmless_keys.hpp).
  std::vector<Unread> unknown() const;
  /// Throws InputError if two statements of the same size differ. `one` and `other` are their names in the config.
  void require_equal(std::string_view one, Count n, std::string_view other, Count m) const;
  /// Like require_equal(), for the value of `key` (if present) and a size derived from other keys.
  void require_repeated(std::string_view key, std::string_view other, Count size) const;
  /// Throws an InputError of the form "<where>: <sentence>".
  [[noreturn]] void refuse(const std::string& sentence) const;

  const std::string& where() const { return object_.where(); }
  const json::Value& value() const { return object_.value(); }

 private:
  Count assumed(std::string_view key, Count value) const;
  /// Number under any of `keys`, read with `read`, as described for size().
  Count agreed(KeyNames keys, Count (json::Object::*read)(std::string_view) const, Count otherwise) const;

  json::Object object_;
  bool part_;
  std::shared_ptr<std::vector<Assumption>> assumed_ = std::make_shared<std::vector<Assumption>>();
};

/// The first class in "architectures"; empty if it names no class.
std::string named_class(const Config& c);

/// Whether a value has no effect under any key: null, false, 0 or empty.
bool says_nothing(const json::Value& v);

/// An architecture with Llama's block (serial, pre-RMSNorm, gated SiLU, RoPE, no biases), and layers, widths, heads,
/// vocabulary, context and tying read from their common keys. Families then override their differences. `layer_keys`:
/// keys for the number of layers.
Arch base_arch(const Config& config, const Defaults& defaults,
               KeyNames layer_keys = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"});

/// Like base_arch(), but reads only layers, width, vocabulary and tying, for models without attention. The context is
/// the class's default.
Arch sized_arch(const Config& config, const Defaults& defaults);

/// Throws InputError for more layers than an Arch supports. Must be called before any use of a LayerSet.
void require_layers(const Config& config, Count layers);

/// Activation by its name in hf transformers. Throws InputError for an unknown name.
Activation named_activation(const Config& config, const std::string& name);

/// Activation under `hidden_act`, `activation_function` or a similar key.
Activation activation(const Config& config, KeyNames keys, std::string_view otherwise);

/// Sets a sliding window or chunked attention in `layers`, unless the reach is 0 (absent) or covers the whole
/// context.
void set_reach(Arch& arch, const Reach& reach, const LayerSet& layers);

/// The layers that are not in `set`.
LayerSet others(const LayerSet& set, Count layers);

/// Sets the mixer of the layers in mixer.layers. If these are all layers, it becomes the model's default mixer. No
/// effect if mixer.layers is empty.
void set_mixer(Arch& arch, const LayerMixer& mixer);

/// MTP modules as in DeepSeek-V3, whose number is under `key`. Each has a layer like the model's last layer, and a
/// norm, and shares the model's table and head.
Mtp modules_like_last(const Config& config, const Arch& arch, std::string_view key = "num_nextn_predict_layers",
                      Count otherwise = 0);

/// Sets the experts. Removes the dense MLP if experts replace it in every layer.
void set_experts(Arch& arch, const Moe& moe);

}  // namespace llmcalc::import
