#pragma once
/// One pass over the model: runs operators on a backend, allocates their results, traces them, and in training records
/// each operator's gradient rule on a tape. A value moved into its last reader is freed there.

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>

#include "calc/arch/cross_layer.hpp"
#include "calc/block/block.hpp"
#include "model/cache.hpp"
#include "model/pass/layouts.hpp"
#include "model/pass/rotaries.hpp"
#include "model/pass/tape.hpp"
#include "model/settings.hpp"
#include "model/storage/halves.hpp"
#include "model/trace.hpp"
#include "model/weights.hpp"

namespace llmcalc::model {

class Pass {
 public:
  /// tape null: no values are saved for backward. cache null: no cache is read or written.
  Pass(const Arch& arch, Backend& backend, Arena& arena, Weights& weights, const Settings& settings, const Step& step,
       Trace* trace, Tape* tape, Cache* cache);

  const Arch& arch() const { return arch_; }
  const Step& step() const { return step_; }
  const Plan& plan() const { return settings_.plan; }
  /// Whether the logits of a loss are wide.
  bool wide_logits() const { return plan().logits.format != LogitFormat::compute; }
  Positions positions() const { return positions(rotaries_.of(kind())); }
  const Numerics& numerics() const { return settings_.numerics; }
  /// Kind of the current layer; an empty kind outside the layers.
  const LayerKind& kind() const {
    if (in_module()) return module_layer_;
    return layer_ < 0 ? no_layer_ : kinds_[kind_index(kinds_, layer_ / halves(arch_))];
  }
  /// Whether the current layer belongs to an MTP module (Mtp). Module layers are numbered after the model's layers.
  bool in_module() const { return layer_ >= mul(arch_.layers, halves(arch_)); }
  const Mixer& mixer() const { return arch_.mixer(kind().mixer); }
  /// Range of tokens that the current layer's attention reads.
  const Reach& reach() const { return kind().reach; }
  void enter(Count layer);
  Count layer() const { return layer_; }
  /// Watches a flag. Once it is set, the pass throws Stopped before its next operator.
  void watch(const std::atomic<bool>* stop) { stop_ = stop; }
  /// Checks every result (slow): the pass throws NotANumber after the first operator whose result is not finite.
  void check_numbers() { checking_ = true; }

  /// Ids of all tokens that the pass looks up: `ids` and, for an encoder-decoder, also the decoder's tokens, which are
  /// token 0 (T5's padding) followed by the targets. Valid for the pass's lifetime.
  std::span<const std::int64_t> tokens(std::span<const std::int64_t> ids, std::span<const std::int64_t> targets);
  /// Stores ids or targets for the pass's lifetime.
  std::span<const std::int64_t> hold(std::vector<std::int64_t> tokens) {
    return further_.emplace_back(std::move(tokens));
  }
  /// Selects the token of each sequence that the head reads from here on; nullopt: all.
  void look_at(std::optional<Count> token) { looked_at_ = token; }

  // ---- operators, with the engine's names
  Value lookup(std::string_view op, std::span<const std::int64_t> ids);  ///< without ids: rows by position
  /// Looks up the ids of an encoder, which come first, and of its decoder.
  Stacks lookup_stacks(std::string_view op, std::span<const std::int64_t> ids);
  Value linear(std::string_view op, Value x);
  /// Like linear(), for an indexer, which is trained only by its own loss: x gets no gradient.
  Value detached(std::string_view op, Value x);
  /// If the plan has chunked logits, they are computed with the loss, and the result here is empty.
  Value logits(std::string_view op, Value x);
  /// A linear layer on the first token of each sequence.
  Value first_tokens(std::string_view op, Value x);
  /// Rows of a segment table: a sequence is divided into equal segments, one per row of the table.
  Value segments(std::string_view op);
  Value routed(std::string_view op, Value x, const Value& gates);
  /// Latent attention: y = x W per head, with part of attn.kv_up.
  Value absorbed(std::string_view op, const Value& x, bool values);
  /// `stride` > 0: rows of x are that far apart, the first at `first`; the result is contiguous.
  Value norm(std::string_view op, Value x, const Norm& shape, Count stride = 0, Count first = 0);
  /// Norm of a recurrence's output. No model family stores the weights of this norm with an offset. `epsilons`:
  /// multiples of the model's epsilon.
  Value output_norm(std::string_view op, Value x, const Norm& shape, double epsilons = 1);
  void rope(std::string_view op, const RopePart& a, const RopePart& b);
  /// Rotates one tensor, with rows `apart` positions apart; `back`: by negative angles.
  void rope_one(std::string_view op, const RopePart& a, Count apart = 1, bool back = false);
  /// One key of `width` elements per `ratio` tokens.
  Value pool(std::string_view op, Value keys, Value gates, Count width, Count ratio);
  /// y = x W', with a separate matrix for each group of adjacent elements of x.
  Value grouped(std::string_view op, Value x);
  /// chosen: an indexer's choice of keys; null if all keys in reach are read.
  Value attention(std::string_view op, const Attention& shape, const CoreLayout& layout, std::vector<Value> in,
                  Tensor chosen = nullptr);
  /// Rotates an indexer's queries and key.
  void rope_index(std::string_view op, const RopePart& q, const RopePart& k);
  /// Keys chosen by an indexer from its queries, its key and the weights of its heads, if it has them. The indexer's
  /// loss is not part of the model's: backward runs with a zero gradient of the scores.
  Tensor choose(std::string_view op, const IndexScores& shape, Value q, Value k, Value weights);
  /// The choice of the last layer that made one.
  Tensor last_choice() const { return choice_; }
  /// Appends latent rows to the cache before they are freed.
  void cache_latent(const Attention& shape, const Value& rows);
  /// Shares a layer's keys and values, or only values, with later layers.
  void share_onward(const Value& k, const Value& v);
  /// Keys and values that an earlier layer shares with the current one.
  KeysAndValues shared_kv() const;
  /// Passes shared keys and values to the current layer's attention.
  void give(KeysAndValues kv) { given_ = std::move(kv); }
  KeysAndValues given() { return std::exchange(given_, {}); }
  /// Stores the inputs of all layers; in backward, their slot receives their gradient.
  void give_layers(Value inputs);
  /// act(g) times the current layer's input, and x times that input.
  Value gate_layer_input(std::string_view op, Value g);
  Value multiply_layer_input(std::string_view op, Value x);
  /// Ends the current layer, which read these keys and values: in backward, their gradients exist from here on. Frees
  /// shared values that no later layer reads.
  void leave(const KeysAndValues& read);
  /// Computes the relative-position biases of the encoder or of the other stack, and stores them for all layers.
  void make_distances(std::string_view op, bool encoder);
  /// Computes the relative-position biases from the current layer's own table; only this layer's attention core reads
  /// them. Empty if the layers of a stack share one table.
  Value own_distances(std::string_view op);
  /// Computes an encoder's result with `norm`, and keeps it until backward reaches this point.
  Value encoder_result(const std::function<Value()>& norm);
  /// Passes the encoder's result to the current layer's cross attention.
  void give_encoded(Value encoded) { encoded_ = std::move(encoded); }
  Value encoded() { return std::exchange(encoded_, {}); }
  /// Ends the current layer of a stack that shares distances and, in a decoder, the encoder's result; see leave().
  void leave_stack(const Value& encoded);
  /// The convolution of x along the tokens with the weights of `op`.
  Value convolve(std::string_view op, Value x, Convolution shape);
  /// Outputs of a state that every token updates.
  Value recur(std::string_view op, const LinearAttention& shape, const StateLayout& layout, std::vector<Value> in);
  /// RWKV: token shifts, side by side. linear_of_part() applies a matrix to one of them.
  Value shift(std::string_view op, Value x, Count mixes);
  /// RWKV-6: one token shift, whose last token the operator `keeper` caches.
  Value peek(std::string_view op, std::string_view keeper, const Value& x);
  /// RWKV-6: token shifts whose mixing coefficients are the learned ones plus `moves`.
  Value moved_shift(std::string_view op, Value x, Value moves, Count mixes);
  Value linear_of_part(std::string_view op, Value x, Count part);
  /// blend: a + (b - a) sigmoid(share). gate_key: k (1 + (sigmoid(rate) - 1) w). unit: x w, L2-normalized per head.
  /// bonus: (o + v <r, w k>) gate. w: learned weights.
  Value blend(std::string_view op, Value a, Value b, Value share);
  Value gate_key(std::string_view op, Value rate, Value k);
  Value unit(std::string_view op, Value x, Count heads);
  Value bonus(std::string_view op, Count heads, std::array<Value, 5> o_r_k_v_gate);
  Value sigmoid(std::string_view op, Value x);
  /// Alternating updates: a projection for each additional stream, of x or, if `is_own`, of the stream itself, for
  /// the last `rows` tokens.
  Value project_streams(std::string_view op, const Value& x, Count rows, bool is_own);
  /// stack: x and its projections as streams. merge: the mean of the first stream and of projections.
  Value stack(std::string_view op, Value x, Value projected);
  Value merge(std::string_view op, Value x, Value projected);
  Value predict(std::string_view op, Value x, Value weights);
  Value correct(std::string_view op, Value predicted, Value result, Value weights);
  /// first_stream: the first stream. add_first_stream: x with a added to the first stream. share_with_streams: x with
  /// `own` added to all other streams.
  Value first_stream(std::string_view op, const Value& x);
  Value add_first_stream(std::string_view op, const Value& x, Value a);
  Value share_with_streams(std::string_view op, Value x, Value own);
  /// x times a learned vector, element by element.
  Value scale_by_learned(std::string_view op, Value x) { return scale_heads(op, std::move(x), 1); }
  /// x times a learned vector per head, the same vector for all heads.
  Value scale_heads(std::string_view op, Value x, Count heads);
  Value add(std::string_view op, Value a, Value b);
  Value multiply(std::string_view op, Value a, Value b);
  Value scale(std::string_view op, Value a, Value g);
  Value activate(std::string_view op, Value x);
  Value tanh(std::string_view op, Value x);
  /// The MLP's act(a) b.
  Value gate(std::string_view op, Value a, Value b);
  /// RG-LRU: act(g) y with the MLP's activation, which must not be xIELU.
  Value gate_output(std::string_view op, Value g, Value y);
  /// silu(g) y.
  Value silu_gate(std::string_view op, Value g, Value y);
  /// sigmoid(g) y; each element of g gates an equal number of adjacent elements of y.
  Value sigmoid_gate(std::string_view op, Value g, Value y);
  void dropout(std::string_view op, Value& x);
  void dropout_stacks(std::string_view op, Stacks& x);
  /// Multiplies x by a learned factor in place.
  void multiply_by(std::string_view op, Value& x);
  /// Copies x to all residual streams.
  Value repeat(std::string_view op, Value x);
  /// The weighted sum of the streams x, which a sub-layer reads. `weights`: the stream matrix applied to x.
  Value gather(std::string_view op, const Value& x, const Value& weights);
  /// The streams x updated with a sub-layer's result. The weights' scales and bias are stored under `gather_op`.
  Value spread(std::string_view op, std::string_view gather_op, Value x, Value result, Value weights);
  /// A mix of x and the saved streams (calc/block/mixed_residual.hpp). `is_first`: whether it is the layer's first mix.
  Value mix(std::string_view op, Value x, bool is_first);
  /// Whether the current layer begins a block of a model that mixes its streams; save_stream saves its input.
  bool begins_block() const;
  void save_stream(const Value& x);
  Value route(std::string_view op, Value logits);
  Value dispatch(std::string_view op, Value x, const Value& gates);
  Value combine(std::string_view op, Value x, Value gates);
  /// y plus x times the gates of the experts that return their input.
  Value add_own(std::string_view op, Value y, Value x, Value gates);
  /// Writes the mean cross-entropy, plus the mean of every result that was passed to judge(), to the backend's
  /// memory.
  void loss(std::string_view op, Value logits, std::span<const std::int64_t> targets, double* mean);
  /// Computes the cross-entropy over the rows that have a target, that is, a non-negative one. Its mean goes to `mean`
  /// and, times `share`, is added to `sum`, both in the backend's memory.
  void further_loss(std::string_view op, Value logits, std::span<const std::int64_t> targets, double share,
                    double* mean, double* sum);
  /// Computes the mean of the result, for a model without logits.
  void mean(const Value& result, double* to);
  /// Adds the mean of the result of `op`, which no operator reads, to the loss of the logits.
  void judge(std::string_view op, const Value& result);

  /// Runs block(x) and saves only x; backward recomputes the rest.
  Value checkpoint(Value x, const std::function<Value(Value)>& block);
  /// Sets the gradient of the loss that backward starts with.
  void set_loss_scale(double scale) { loss_scale_ = scale; }

 private:
  /// A tensor that a rule saves, or a function that recomputes it.
  struct Saved {
    Tensor data;
    std::function<Tensor()> recompute;
    Tensor get() const { return data || !recompute ? data : recompute(); }
  };
  /// Destination of a gradient, which is overwritten or accumulated.
  struct Into {
    void* data;
    bool add;
  };

  bool taping() const { return tape_ != nullptr; }
  Positions positions(const Rotary* rotary) const {
    return {.queries = step_.queries, .past = step_.past, .rotary = rotary, .documents = documents()};
  }
  const DocumentRange* documents() const { return documents_.empty() ? nullptr : documents_.data(); }
  Value make(std::string_view op, Count rows, Count width);
  Value make(Purpose purpose, std::string_view op, Count rows, Count width, Bytes each);
  Tensor own(std::string_view op, Bytes bytes);
  /// Whether any of the operator's learned parameters, the current layer's or borrowed ones, are trained.
  bool trains(std::string_view op) const;
  /// Whether backward runs any part of an operator that reads these values; with frozen parts, only if a gradient of an
  /// input or of the operator's parameters is required.
  bool has_backward(std::string_view op, std::initializer_list<const Value*> in) const;
  /// Like has_backward(), for an operator whose result is y. Records whether y requires a gradient. False without a
  /// tape.
  bool flows(std::string_view op, std::initializer_list<const Value*> in, const Value& y) const;
  bool flows(std::string_view op, const std::vector<Value>& in, const Value& y) const;
  /// Like flows(), for rows of a table. With adapters, rows of a frozen table also require a gradient, which ends
  /// there, as with enable_input_require_grads of Hugging Face's transformers.
  bool flows_from(const Parameter& table, const Value& y);
  /// Destination of a gradient that is not required: a zeroed buffer, whose memory is not counted because a device
  /// kernel would not write it. Valid until the rule ends.
  void* nowhere(Bytes bytes);
  /// Accumulator for gradients of learned parameters; null if p is null.
  void* sum(Parameter* p);
  /// Like sum(), for a matmul's bias, and for its matrix, which may be overwritten if still empty; null if frozen.
  void* bias_sum(Parameter* p) { return p != nullptr && p->gradient ? sum(p) : nullptr; }
  Into matrix_sum(Parameter* p);
  /// Ends an operator's gradient rule.
  void end_rule();
  Saved keep(std::string_view op, const Value& x);
  /// Saves x for the gradient of a matmul's matrix; empty if the matrix is frozen.
  Saved keep_for(const Parameter* w, std::string_view op, const Value& x) {
    return w->gradient ? keep(op, x) : Saved();
  }
  Into into(std::string_view op, const std::shared_ptr<TapeSlot>& x, Count elements);
  /// Destination of a gradient of strided rows. Elements between the rows have zero gradient.
  Into into_rows(std::string_view op, const std::shared_ptr<TapeSlot>& x, Count elements, bool apart);
  struct LastRows {
    Count first = 0, apart = 0;  ///< offset of the first row and row stride, in elements
  };
  LastRows last_rows(const Value& x, Count rows) const;
  void add_to_first(std::string_view op, const Pointwise& s, const Tensor& dy, const std::shared_ptr<TapeSlot>& x);
  GradientPlace place(std::string_view op, const std::shared_ptr<TapeSlot>& x, Count elements);
  template <std::size_t n>
  struct Operands;
  template <std::size_t n>
  Operands<n> operands(std::string_view op, const std::array<Value, n>& in);
  void run(std::string_view op, const Shape& shape, Direction direction, const std::function<void()>& f);
  void forward(std::string_view op, const Shape& shape, const std::function<void()>& f);
  void traced(std::string_view op, const Shape& shape, Direction direction, const std::function<void()>& f);
  void refuse_not_a_number(std::string_view op) const;
  /// Records a rule to run in backward, in the current layer.
  void remember(std::string_view op, const Shape& shape, std::function<void()> rule);
  std::vector<double> mean_gradient(Count numbers) const;
  Dropout dice(std::string_view op) const;
  /// The current layer's parameter; MTP modules use the model's parameters in place of those that they lack.
  Parameter* weight(std::string_view op, std::string_view what) const;
  const void* value(const Parameter* p) const { return weights_.numbers(p); }
  /// Whether the operator's weights are stored elsewhere: in a module, as the model's; in a head, as the token
  /// embedding.
  bool borrows(std::string_view op) const;
  /// The operator's matrix or token embedding. Modules and heads without one use the model's token embedding.
  Parameter& matrix(std::string_view op) const;
  /// chunked_loss: mean loss over the rows with a target. In backward, the logits are replaced by their gradient times
  /// `share`.
  struct ChunkedHead;
  void chunked_loss(std::string_view op, Value x, std::span<const std::int64_t> targets, double* mean);
  void chunk_forward(const ChunkedHead& h, Count first, Count n, double* mean);
  void chunk_backward(const ChunkedHead& h, Count first, Count n);
  void entropy(std::string_view op, const Value& logits, std::span<const std::int64_t> targets, double share,
               double* mean);
  /// Passes dy on as the gradient of `to`. `alone`: dy has no other owner.
  void share(std::string_view op, const Tensor& dy, const std::shared_ptr<TapeSlot>& to, Count elements, bool alone);
  void rotate(const RopePart& p, const Positions& at, void* x, bool inverse);
  void rope_at(std::string_view op, const Positions& at, const RopePart& a, const RopePart& b);
  struct NormNumbers {
    double offset = 0, epsilons = 1;
  };
  Value normed(std::string_view op, Value x, Norm shape, const NormNumbers& numbers, Count stride, Count first);
  struct Product {
    bool for_loss = false, detached = false;
    bool first = false;  ///< whether the matmul reads only the first token of each sequence
    Count from = 0;      ///< index of the first element that the matmul reads in each row
    const Value* gates = nullptr;
  };
  Value product(std::string_view op, Value x, const Product& how);
  Value adapted(std::string_view op, Value x, const Product& how);
  Value gated(std::string_view op, Activation act, bool remade, Value a, Value b);
  struct LayerInput;
  LayerInput layer_input();
  Value with_layer_input(std::string_view op, PointwiseKind kind, bool remade, Value x);
  Value scaled(std::string_view op, const Pointwise& s, Value y, Value g);
  /// A shift whose last token is stored in the state of `keeper`.
  Value shifted(std::string_view op, std::string_view keeper, Value x, Shift s);
  HeadView view(const HeadPart& p, const std::vector<Tensor>& data) const;
  HeadView pooled_view(const HeadPart& p, const std::vector<Tensor>& data) const;
  AttentionInputs inputs(std::string_view op, const CoreLayout& l, const std::vector<Tensor>& data) const;
  /// The part of a pass's tokens that one stack reads.
  struct Stack {
    Lookup rows;
    Count first = 0;
    Positions at;
  };
  Stack stack(const Parameter& table, bool encoder) const;
  Tensor saved_ids(std::string_view op, std::span<const std::int64_t> ids);
  void decode_chosen(const Lookup& s, const Ids& ids, const Positions& at, const Parameter& table, const Value& y);
  void look_up(std::string_view op, const Lookup& s, const Ids& ids, const Positions& at, Parameter& table,
               const Value& y);
  void look_up_gradient(std::string_view op, const Lookup& s, const Ids& ids, const Positions& at, Parameter& table,
                        const std::shared_ptr<TapeSlot>& y);
  Value& distances() { return distances_[mixer().bidirectional ? 0 : 1]; }
  RelativeInputs relative(const Attention& s);
  void to_cache(const LayerCache& c, const CachedRows& to, Count row, Count offset, const HeadView& from, Count width);
  HeadView cached(const LayerCache& c, const CachedRows& rows, Count row, Count head, Count offset) const;
  void* numbers_of(const CachedRows& rows) const;
  void encode_rows(const CachedRows& rows, Count first, Count n);
  void decode_rows(const CachedRows& rows, Count filled) const;
  void write_cache(const Attention& s, const AttentionInputs& in);
  void read_cache(const Attention& s, AttentionInputs& in);
  void cache_pooled(const CachedRows& to, Count ratio, Count width, const HeadView& pooled);
  HeadView cached_pooled(const LayerCache& c, const CachedRows& rows, Count width) const;
  void cache_index_keys(const LayerCache& c, const HeadView& keys);
  HeadView cached_index_keys(const LayerCache& c) const;
  StateView state_view(std::string_view op, const StateLayout& l, const std::vector<Tensor>& data) const;
  void* cached_state(std::string_view op) const;
  /// The value without its data, for a rule that saves the data separately.
  static Value bare(const Value& x) { return {nullptr, x.rows, x.width, x.slot}; }
  StreamView streams_of(std::string_view gather_op, const Value& x, const Tensor& x_data, const Value& weights,
                        const Tensor& weight_data) const;
  Count saved_before(bool is_first) const;
  using ViewOfMix = std::function<MixView(const std::vector<const void*>&)>;
  void remember_mix(std::string_view op, const Pointwise& s, std::vector<Value> all, const ViewOfMix& view,
                    const std::shared_ptr<TapeSlot>& y);
  struct CoreSaved;
  /// is_saved: whether the buffers are saved for backward. passing: whether they exist only while the core runs.
  CoreSaved core_saved(std::string_view op, const Attention& s, bool is_saved, bool passing);
  /// The core's inputs, read from these tensors.
  using ReadInputs = std::function<AttentionInputs(const std::vector<Tensor>&)>;
  void remember_attention(std::string_view op, const Attention& s, const CoreLayout& l, const std::vector<Value>& in,
                          const Value& y, const ReadInputs& reading, const Dropout& d, CoreSaved saved);

  const Arch& arch_;
  Backend& backend_;
  Arena& arena_;
  Weights& weights_;
  const Settings& settings_;
  const Step whole_;  ///< step of both stacks
  Step step_;         ///< step as seen by the current layer
  LayerKinds kinds_;
  LayerKind no_layer_, module_layer_;
  std::vector<CrossLayerTensor> handing_;
  std::map<Count, KeysAndValues> cross_layer_;  ///< shared keys and values, by the layer that computed them
  /// Gradient slots of shared keys and values in training, also for recomputed layers.
  std::map<Count, std::array<std::shared_ptr<TapeSlot>, 2>> awaited_;
  KeysAndValues given_;
  std::vector<Value> saved_;  ///< saved residual streams
  Value layer_inputs_;
  Tensor ids_;                            ///< token ids, stored once for all tables indexed by them
  std::vector<DocumentRange> documents_;  ///< document of every token of a packed training sequence
  Rotaries rotaries_;
  Trace* trace_;
  Tape* tape_;
  Cache* cache_;
  Count layer_ = -1;
  Direction direction_ = Direction::forward;
  double loss_scale_ = 1;
  Tensor choice_;                       ///< chosen keys, for the layers that share them, until a layer chooses its own
  std::vector<std::int64_t> segments_;  ///< segment of every token
  std::vector<Value> judged_;
  Value unprojected_;  ///< input of chunked logits, kept until their loss
  const std::atomic<bool>* stop_ = nullptr;
  bool checking_ = false;
  std::deque<Unpacked> unasked_;                             ///< buffers of nowhere()
  std::vector<std::pair<Parameter*, const void*>> rounded_;  ///< a rule's sums, to be added to 2-byte gradients
  std::vector<std::int64_t> both_;                           ///< ids of both stacks
  std::deque<std::vector<std::int64_t>> further_;
  std::optional<Count> looked_at_;
  Value encoded_;
  std::array<Value, 2> distances_;  ///< relative-position biases of a bidirectional stack and of a causal one
  Value made_;                      ///< last allocated result, kept if results are checked
};

/// Thrown between operators after the user requests a stop.
struct Stopped {};

/// A loss, a gradient or a result is not finite; the message names it.
class NotANumber : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace llmcalc::model
