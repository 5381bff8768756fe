#pragma once
/// The KV cache, by layer: rows of heads, or latent rows. A layer with a window or chunks stores only as many tokens as
/// these span, and overwrites the oldest.

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "calc/block/block.hpp"
#include "model/backend.hpp"
#include "model/storage/arena.hpp"
#include "model/storage/halves.hpp"

namespace llmcalc::model {

struct DecodingStep;

/// Rows of a cache, (sequence, slot, head, width): values in the backend's format, or quantized per head.
struct CachedRows {
  Tensor data;
  Count slots = 0, heads = 0, width = 0;
  std::optional<DType> format = {};             ///< format of quantized values; absent: not quantized
  std::shared_ptr<Unpacked> numbers = nullptr;  ///< dequantized values while a layer runs; shared by all layers
  explicit operator bool() const { return data != nullptr; }
  CodedShape coded() const { return {*format, 1, width, true}; }
  Bytes row(Bytes number) const { return heads * (format ? coded().bytes() : width * number); }
};

/// Formats of a quantized cache; absent: the backend's format. Keys that are also values use the keys' format.
struct CacheCodes {
  std::optional<DType> keys = {}, values = {};
};

struct LayerCache {
  CachedRows k, v;  ///< grouped: heads of keys and of values; latent: k holds the latent rows; expanded: k holds the
                    ///< values and the non-rotary parts of keys, v the rotary parts of every head's keys
  CachedRows index_keys;  ///< an indexer's keys; if pooled, with `groups` slots
  Count capacity = 0;     ///< number of slots
  CachedRows pooled;      ///< keys of complete token groups; empty without pooling
  Count groups = 0;       ///< number of slots of pooled keys
  std::map<std::string_view, Tensor>
      states;  ///< states by operator: a recurrence's state, or the last inputs of a convolution or shift
  std::optional<Positions> positions =
      {};  ///< positions of rows that an encoder writes in one pass; absent: positions of the current pass
};

class Cache {
 public:
  /// Allocates all layers for `tokens` tokens per sequence. `expanded`: whether latent attention caches heads, with
  /// both parts in one format, instead of latent rows. `encoded`: number of tokens that an encoder reads; the other
  /// tokens follow the decoder's start token. `modules`: number of MTP modules, whose layers follow the model's.
  Cache(Backend& backend, Arena& arena, const Arch& arch, bool expanded, Count sequences, Count tokens,
        Count encoded = 0, Count modules = 0, const CacheCodes& codes = {})
      : backend_(backend),
        arena_(arena),
        codes_(codes),
        sequences_(sequences),
        tokens_(arch.is_encoder_decoder() ? tokens - encoded + 1 : tokens),
        encoded_(encoded) {
    const LayerKinds kinds = layer_kinds(arch);
    for (Count i = 0; i < mul(arch.layers + modules, halves(arch)); ++i) {
      LayerCache& layer = layers_.emplace_back();
      LayerCache& cross = cross_.emplace_back();
      const Count number = i / halves(arch);
      const LayerKind kind = number < arch.layers ? kinds[kind_index(kinds, number)] : mtp_layer(arch);
      if (kind.half && i % halves(arch) == 1) continue;
      for (const Op& op : block_ops(arch, kind, {.expanded_cache = expanded})) {
        if (const Attention* a = std::get_if<Attention>(&op.shape); a != nullptr && a->cross)
          add_cross(cross, *a);
        else if (a != nullptr && a->caches() && !layer.k)
          add(layer, *a);  // only once: both halves of a shortcut block are identical
        if (const IndexScores* a = std::get_if<IndexScores>(&op.shape);
            a != nullptr && !layer.index_keys && a->pooled == 0)
          layer.index_keys = rows(op.name, index_numbers_, tokens, 1, a->width);
        if (const Pool* a = std::get_if<Pool>(&op.shape)) add(layer, op.name, *a);
        if (const LinearAttention* a = std::get_if<LinearAttention>(&op.shape))
          layer.states[op.name] = held(op.name, a->cached() * backend_.wide());
        if (const Convolution* a = std::get_if<Convolution>(&op.shape))
          layer.states[op.name] = held(op.name, mul(a->channels, a->taps - 1) * backend_.number());
        if (const Shift* a = std::get_if<Shift>(&op.shape); a != nullptr && !a->peeks)
          layer.states[op.name] = held(op.name, a->width * backend_.number());
      }
    }
  }

  /// Whether a cache of this many tokens cannot be rolled back: it has a recurrent state or overwrites old tokens.
  static bool forgets(const Arch& arch, Count tokens) {
    for (const LayerKind& kind : layer_kinds(arch))
      for (const Op& op : block_ops(arch, kind, {})) {
        const Attention* a = std::get_if<Attention>(&op.shape);
        if (a != nullptr && a->caches() && a->reach.held(tokens) < tokens) return true;
        if (std::holds_alternative<LinearAttention>(op.shape) || std::holds_alternative<Convolution>(op.shape) ||
            std::holds_alternative<Shift>(op.shape) || std::holds_alternative<Pool>(op.shape))
          return true;
      }
    return false;
  }

  const LayerCache& layer(Count i) const { return layers_[static_cast<std::size_t>(i)]; }
  /// Keys and values of the encoder's tokens, read by the layer's cross attention.
  const LayerCache& cross(Count i) const { return cross_[static_cast<std::size_t>(i)]; }

 private:
  /// A tensor with `each` bytes per sequence.
  Tensor held(std::string_view op, Bytes each) { return arena_.make(Purpose::kv_cache, op, sequences_ * each); }
  /// Rows that, if quantized, share a buffer of dequantized values with other rows of this role.
  CachedRows rows(std::string_view op, const std::shared_ptr<Unpacked>& role, Count slots, Count heads, Count width) {
    CachedRows r{.data = nullptr,
                 .slots = slots,
                 .heads = heads,
                 .width = width,
                 .format = role == v_numbers_ ? codes_.values : codes_.keys};
    if (r.format) r.numbers = role;
    r.data = held(op, slots * r.row(backend_.number()));
    return r;
  }
  /// Adds pooled keys to the KV cache and, as activations, the last tokens' data that pooling needs.
  void add(LayerCache& to, std::string_view op, const Pool& s) {
    to.groups = tokens_ / s.ratio;
    const bool indexes = op == "attn.index_pool";
    if (to.groups > 0)
      (indexes ? to.index_keys : to.pooled) =
          rows(op, indexes ? index_numbers_ : pooled_numbers_, to.groups, 1, s.width);
    to.states[op] =
        arena_.make(Purpose::activations, op, mul(sequences_, 2, s.wide, s.last_tokens()) * backend_.number());
  }
  void add(LayerCache& to, const Attention& s) {
    to.capacity = s.reach.held(tokens_);
    const auto keys = [&](Count heads, Count width) {
      return rows("attn.core", k_numbers_, to.capacity, heads, width);
    };
    const auto values = [&](Count width) { return rows("attn.core", v_numbers_, to.capacity, s.kv_heads, width); };
    if (s.caches_latent()) {
      to.k = keys(1, s.latent_dim);
    } else if (s.latent_dim == 0) {
      to.k = keys(s.kv_heads, s.qk_dim);
      if (!s.shared) to.v = values(s.v_dim);
    } else {  // expanded latent heads: non-rotary parts of keys are stored with the values
      to.k = keys(s.kv_heads, s.qk_dim - s.rope_dim + s.v_dim);
      to.v = values(s.rope_dim);
    }
  }

  void add_cross(LayerCache& to, const Attention& s) {
    to.capacity = encoded_;
    to.positions = Positions{.queries = encoded_};
    to.k = rows("cross.core", k_numbers_, encoded_, s.kv_heads, s.qk_dim);
    to.v = rows("cross.core", v_numbers_, encoded_, s.kv_heads, s.v_dim);
  }

  std::shared_ptr<Unpacked> unpacked() const { return std::make_shared<Unpacked>(backend_); }

  Backend& backend_;
  Arena& arena_;
  CacheCodes codes_;
  std::shared_ptr<Unpacked> k_numbers_ = unpacked(), v_numbers_ = unpacked(), index_numbers_ = unpacked(),
                            pooled_numbers_ = unpacked();
  Count sequences_, tokens_, encoded_;
  std::vector<LayerCache> layers_, cross_;

 public:
  std::shared_ptr<DecodingStep> decoding;  ///< decoding step, reused for every token; destroyed before the layers
};

}  // namespace llmcalc::model
