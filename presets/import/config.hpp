#pragma once
/// A Hugging Face config.json as the families read it: several names for one size, a library default for what is left
/// unsaid, and null told apart from absent where the library does so.

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

/// Defaults of a family's config class for absent keys. kv_heads = 0: as many as heads. head_dim = 0: hidden /
/// heads.
struct Defaults {
  Count layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, mlp = 0, vocabulary = 0, context = 0;
  bool tied = false;
};

/// A size that a config leaves out and its family settles.
struct Assumption {
  std::string key;
  Count value = 0;
};

class Config {
 public:
  /// part: of a composite config, whose parts leave out what their class assumes.
  Config(const json::Value& value, std::string where, bool part = false)
      : object_(value, std::move(where)), part_(part) {}

  /// Present and not null.
  bool has(std::string_view key) const { return object_.has(key); }
  /// Present, but null.
  bool is_null(std::string_view key) const;

  /// The size called by any of `keys`. Refused where it is null, or absent from a config that is no part of another:
  /// hf writes every size of a model's own class.
  Count required(KeyNames keys, Count otherwise) const;
  /// The size called by any of `keys`; `otherwise` where none is there, which is remembered unless it is 0 or 1. Two
  /// that disagree are an error.
  Count size(KeyNames keys, Count otherwise) const;
  Count size(std::string_view key, Count otherwise) const { return size(KeyNames{key}, otherwise); }
  /// The same of a size that may be 0.
  Count count(KeyNames keys, Count otherwise) const;
  Count count(std::string_view key, Count otherwise) const { return count(KeyNames{key}, otherwise); }
  /// The first of `keys` that is there, whatever the others say.
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

  /// Marks keys as known to change nothing.
  void ignore(KeyNames keys) const;
  /// Defaults taken for keys that the config leaves out, whether or not the model uses them.
  const std::vector<Assumption>& assumptions() const { return *assumed_; }
  /// Takes back defaults that a list in the config stands in for.
  void forget(KeyNames keys) const;
  struct Unread {
    std::string_view key;
    const json::Value* value;
  };
  /// Keys that no reader asked for, with their values, but for values of null, false, 0 or nothing; and the keys alone.
  std::vector<Unread> unread_values() const;
  std::vector<std::string> unread() const;
  /// Those of them that may change a size (harmless_keys.hpp).
  std::vector<Unread> unknown() const;
  /// Refuses two ways of stating one size that differ; `one` and `other` are what the config calls them.
  void require_equal(std::string_view one, Count n, std::string_view other, Count m) const;
  /// The same of `key`, where it is there, and a size that follows from other keys.
  void require_repeated(std::string_view key, std::string_view other, Count size) const;
  /// Throws InputError: "<where>: <sentence>".
  [[noreturn]] void refuse(const std::string& sentence) const;

  const std::string& where() const { return object_.where(); }
  const json::Value& value() const { return object_.value(); }

 private:
  Count assumed(std::string_view key, Count value) const;
  /// The number called by any of `keys`, read by `read`; see size().
  Count agreed(KeyNames keys, Count (json::Object::*read)(std::string_view) const, Count otherwise) const;

  json::Object object_;
  bool part_;
  std::shared_ptr<std::vector<Assumption>> assumed_ = std::make_shared<std::vector<Assumption>>();
};

/// The class that "architectures" names first; nothing where it names none.
std::string named_class(const Config& c);

/// Whether a value changes nothing in any key: null, false, 0 or empty.
bool says_nothing(const json::Value& v);

/// Layers, widths, heads, vocabulary, context and tying as every family names them; on top of that a Llama block:
/// serial, pre-RMSNorm, gated SiLU, RoPE, no bias anywhere. Families then say where they differ.
/// `layer_keys`: the names that the number of layers goes by.
Arch base_arch(const Config& config, const Defaults& defaults,
               KeyNames layer_keys = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"});

/// Layers, width, vocabulary and tying alone, for models without attention; `context` is the class's default.
Arch sized_arch(const Config& config, const Defaults& defaults);

/// Refuses more layers than an Arch can tell apart; a LayerSet must not be filled before.
void require_layers(const Config& config, Count layers);

/// The function of that name in hf transformers. Throws InputError for an unknown one.
Activation named_activation(const Config& config, const std::string& name);

/// The function that `hidden_act`, `activation_function` or the like names.
Activation activation(const Config& config, KeyNames keys, std::string_view otherwise);

/// Gives `layers` a sliding window or chunks, unless absent (0) or as long as the context.
void set_reach(Arch& arch, const Reach& reach, const LayerSet& layers);

/// The layers outside `set`.
LayerSet others(const LayerSet& set, Count layers);

/// Gives mixer.layers that mixer; where all layers have it, it is the model's own. Of no layer: nothing.
void set_mixer(Arch& arch, const LayerMixer& mixer);

/// Modules that predict further tokens, as many as `key` says, as DeepSeek-V3 has them: each with a layer like the
/// model's last and a norm of its own; table and head are the model's.
Mtp modules_like_last(const Config& config, const Arch& arch, std::string_view key = "num_nextn_predict_layers",
                      Count otherwise = 0);

/// Experts in `layers`; a dense MLP that is then used by no layer is dropped.
void set_experts(Arch& arch, const Moe& moe);

}  // namespace llmcalc::import
