#pragma once
/// One pass over the model: runs operators on a backend, allocates their results, traces them, and in training records
/// each operator's gradient rule on a tape. A value that is moved into its last reader is freed there.

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>

#include "calc/arch/handed_on.hpp"
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
  /// tape null: nothing is kept for backward. cache null: no cache is read or written.
  Pass(const Arch& arch, Backend& backend, Arena& arena, Weights& weights, const Settings& settings, const Step& step,
       Trace* trace, Tape* tape, Cache* cache);

  const Arch& arch() const { return arch_; }
  const Step& step() const { return step_; }
  const Plan& plan() const { return settings_.plan; }
  /// Whether the logits of a loss are wide.
  bool wide_logits() const { return plan().logits.format != LogitFormat::compute; }
  Positions positions() const { return positions(rotaries_.of(kind())); }
  const Numerics& numerics() const { return settings_.numerics; }
  /// The kind of the current layer; outside of layers one without anything.
  const LayerKind& kind() const {
    if (in_module()) return module_layer_;
    return layer_ < 0 ? no_layer_ : kinds_[kind_index(kinds_, layer_ / halves(arch_))];
  }
  /// Whether the current layer is a module's (Mtp): they are numbered behind the model's.
  bool in_module() const { return layer_ >= mul(arch_.layers, halves(arch_)); }
  const Mixer& mixer() const { return arch_.mixer(kind().mixer); }
  /// The tokens that the current layer's attention reaches.
  const Reach& reach() const { return kind().reach; }
  void enter(Count layer);
  Count layer() const { return layer_; }
  /// Watches a flag: once set, the pass ends before its next operator with Stopped.
  void watch(const std::atomic<bool>* stop) { stop_ = stop; }
  /// Checks every result (slow): the pass ends with NotANumber after the first operator whose result contains a NaN.
  void check_numbers() { checking_ = true; }

  /// The ids of all tokens that the pass looks up: the given ones, and of a decoder behind an encoder its own, which
  /// begins with token 0 (T5's padding) and goes on with the targets. They live as long as the pass.
  std::span<const std::int64_t> tokens(std::span<const std::int64_t> ids, std::span<const std::int64_t> targets);
  /// Keeps ids or targets as long as the pass.
  std::span<const std::int64_t> hold(std::vector<std::int64_t> tokens) {
    return further_.emplace_back(std::move(tokens));
  }
  /// The token of each sequence that the head sees from here on; none: all of them.
  void look_at(std::optional<Count> token) { looked_at_ = token; }

  // ---- operators: the names are those of the engine's
  Value lookup(std::string_view op, std::span<const std::int64_t> ids);  ///< no ids: by position
  /// The same for an encoder, whose ids come first, and the decoder behind it.
  Stacks lookup_stacks(std::string_view op, std::span<const std::int64_t> ids);
  Value linear(std::string_view op, Value x);
  /// The same of an indexer, whose own loss trains it alone: x gets no gradient.
  Value detached(std::string_view op, Value x);
  /// Where the plan has chunks of them they are made with the loss, and the result here is empty.
  Value logits(std::string_view op, Value x);
  /// A linear layer on the first token of each sequence.
  Value first_tokens(std::string_view op, Value x);
  /// Rows of a table of segments: a sequence is as many segments of equal length as the table has rows.
  Value segments(std::string_view op);
  Value routed(std::string_view op, Value x, const Value& gates);
  /// Latent attention: y = x W per head, with part of attn.kv_up.
  Value absorbed(std::string_view op, const Value& x, bool values);
  /// `stride` > 0: the rows lie so far apart in x, the first at `first`; the result has them side by side.
  Value norm(std::string_view op, Value x, const Norm& shape, Count stride = 0, Count first = 0);
  /// A norm whose weights are stored as they are in every family, that of a recurrence's output. `epsilons`: times the
  /// model's epsilon.
  Value output_norm(std::string_view op, Value x, const Norm& shape, double epsilons = 1);
  void rope(std::string_view op, const RopePart& a, const RopePart& b);
  /// Rotates one tensor, whose rows are `apart` positions from each other; `back`: by their negatives.
  void rope_one(std::string_view op, const RopePart& a, Count apart = 1, bool back = false);
  /// Keys of `width` numbers for every `ratio` tokens.
  Value pool(std::string_view op, Value keys, Value gates, Count width, Count ratio);
  /// y = x W' for groups of neighbouring numbers of x, each with a matrix of its own.
  Value grouped(std::string_view op, Value x);
  /// chosen: the indices of an indexer's choice; null where all keys in reach are read.
  Value attention(std::string_view op, const Attention& shape, const CoreLayout& layout, std::vector<Value> in,
                  Tensor chosen = nullptr);
  /// Rotates an indexer's queries and key.
  void rope_index(std::string_view op, const RopePart& q, const RopePart& k);
  /// The choice that an indexer makes of its queries, key and the weights of its heads, if it has such. Its own loss is
  /// not the model's: backward runs with a gradient of the scores that is zero.
  Tensor choose(std::string_view op, const IndexScores& shape, Value q, Value k, Value weights);
  /// The choice of the last layer that made one.
  Tensor last_choice() const { return choice_; }
  /// Appends latent rows to the cache before they are freed.
  void cache_latent(const Attention& shape, const Value& rows);
  /// Keeps a layer's keys and values, or values alone, for the later ones that read them.
  void hand_on(const Value& k, const Value& v);
  /// Those that an earlier layer handed on to the current one.
  KeysAndValues handed() const;
  /// Gives the current layer's attention what was handed on to it.
  void give(KeysAndValues kv) { given_ = std::move(kv); }
  KeysAndValues given() { return std::exchange(given_, {}); }
  /// Keeps the inputs of all layers for them; the gradient comes back to their slot.
  void give_layers(Value inputs);
  /// act(g) times the current layer's input, and x times it.
  Value gate_layer_input(std::string_view op, Value g);
  Value multiply_layer_input(std::string_view op, Value x);
  /// Ends the current layer, which read these: in backward they have a gradient from here on. What no later layer reads
  /// is freed.
  void leave(const KeysAndValues& read);
  /// Makes what relative positions add to the scores of the encoder, or of the other stack, and keeps it for all
  /// layers.
  void make_distances(std::string_view op, bool encoder);
  /// The same of the current layer's own table, which its core alone reads; none where its stack has one.
  Value own_distances(std::string_view op);
  /// An encoder's result, made by `norm`; it stays until backward has come back there.
  Value encoder_result(const std::function<Value()>& norm);
  /// Gives the current layer's cross attention the encoder's result.
  void give_encoded(Value encoded) { encoded_ = std::move(encoded); }
  Value encoded() { return std::exchange(encoded_, {}); }
  /// Ends the current layer, whose stack shares distances and, behind an encoder, its result: as leave().
  void leave_stack(const Value& encoded);
  /// The convolution of x along the tokens with the weights of `op`.
  Value convolve(std::string_view op, Value x, Convolution shape);
  /// The outputs of a state that every token updates.
  Value recur(std::string_view op, const LinearAttention& shape, const StateLayout& layout, std::vector<Value> in);
  /// RWKV: mixes of every token and the one before it, side by side, and the matrix of one of them.
  Value shift(std::string_view op, Value x, Count mixes);
  /// RWKV-6: one mix, of which the operator `keeper` caches the last token.
  Value peek(std::string_view op, std::string_view keeper, const Value& x);
  /// RWKV-6: mixes whose shares are the learned ones and `moves`.
  Value moved_shift(std::string_view op, Value x, Value moves, Count mixes);
  Value linear_of_part(std::string_view op, Value x, Count part);
  /// a + (b - a) sigmoid(share); k (1 + (sigmoid(rate) - 1) w); x w of length 1 in every head; (o + v <r, k>) gate.
  Value blend(std::string_view op, Value a, Value b, Value share);
  Value gate_key(std::string_view op, Value rate, Value k);
  Value unit(std::string_view op, Value x, Count heads);
  Value bonus(std::string_view op, Count heads, std::array<Value, 5> o_r_k_v_gate);
  Value sigmoid(std::string_view op, Value x);
  /// Alternating updates: x, or every further stream of it (`is_own`), under a matrix for each; the last `rows` tokens.
  Value project_streams(std::string_view op, const Value& x, Count rows, bool is_own);
  /// x and its projections as streams, and the mean of the first stream and of projections.
  Value stack(std::string_view op, Value x, Value projected);
  Value merge(std::string_view op, Value x, Value projected);
  Value predict(std::string_view op, Value x, Value weights);
  Value correct(std::string_view op, Value predicted, Value result, Value weights);
  /// The first stream, and a added to it; own added to all others.
  Value first_stream(std::string_view op, const Value& x);
  Value add_first_stream(std::string_view op, const Value& x, Value a);
  Value share_with_streams(std::string_view op, Value x, Value own);
  /// x times a learned number for each of its row.
  Value scale_by_learned(std::string_view op, Value x) { return scale_heads(op, std::move(x), 1); }
  /// The same of every head, with factors that the heads share.
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
  /// sigmoid(g) y, where each number of g gates as many neighbours of y as y has more of them.
  Value sigmoid_gate(std::string_view op, Value g, Value y);
  void dropout(std::string_view op, Value& x);
  void dropout_stacks(std::string_view op, Stacks& x);
  /// x times a learned number, in place.
  void multiply_by(std::string_view op, Value& x);
  /// x as all residual streams.
  Value repeat(std::string_view op, Value x);
  /// The sum of the streams x that a sub-layer reads; `weights`: what the matrix of the streams has made of them.
  Value gather(std::string_view op, const Value& x, const Value& weights);
  /// The streams x with a sub-layer's result. Scales and bias of the weights stand with `gather_op`.
  Value spread(std::string_view op, std::string_view gather_op, Value x, Value result, Value weights);
  /// A mix of x and of the streams that are saved (calc/block/mixed_residual.hpp). `is_first`: of its layer.
  Value mix(std::string_view op, Value x, bool is_first);
  /// Whether the current layer begins a block of a model that mixes its streams; saves such a layer's input.
  bool begins_block() const;
  void save_stream(const Value& x);
  Value route(std::string_view op, Value logits);
  Value dispatch(std::string_view op, Value x, const Value& gates);
  Value combine(std::string_view op, Value x, Value gates);
  /// y and, by the gates of the experts that return their input, x.
  Value add_own(std::string_view op, Value y, Value x, Value gates);
  /// Cross-entropy, its mean, and that of every result that judge() took; the sum goes to the backend's memory.
  void loss(std::string_view op, Value logits, std::span<const std::int64_t> targets, double* mean);
  /// The cross-entropy of the rows that have a target, which is not negative: its mean goes to `mean` and, times
  /// `share`, is added to `sum`. All are the backend's memory.
  void further_loss(std::string_view op, Value logits, std::span<const std::int64_t> targets, double share,
                    double* mean, double* sum);
  /// The mean of a result, of a model without logits.
  void mean(const Value& result, double* to);
  /// Adds the mean of the result of `op`, which no operator reads, to the loss of the logits.
  void judge(std::string_view op, const Value& result);

  /// block(x), of which only x is kept: backward recomputes the rest.
  Value checkpoint(Value x, const std::function<Value(Value)>& block);
  /// Starts backward with this gradient of the loss.
  void set_loss_scale(double scale) { loss_scale_ = scale; }

 private:
  /// A tensor that a rule keeps, or a function that recomputes it.
  struct Kept {
    Tensor data;
    std::function<Tensor()> again;
    Tensor get() const { return data || !again ? data : again(); }
  };
  /// The destination of a gradient, which is written or accumulated.
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
  /// Whether the operator trains learned numbers: the current layer's, or those that it borrows.
  bool trains(std::string_view op) const;
  /// Whether backward runs anything of an operator that reads these: where parts of a model are frozen, if a gradient
  /// is asked of one of them, or of its own numbers.
  bool has_backward(std::string_view op, std::initializer_list<const Value*> in) const;
  /// The same of one that makes y, which then asks for a gradient, too. Without a tape nothing runs backward.
  bool flows(std::string_view op, std::initializer_list<const Value*> in, const Value& y) const;
  bool flows(std::string_view op, const std::vector<Value>& in, const Value& y) const;
  /// The same of rows of a table. Beside adapters rows of a frozen one ask for a gradient, too, as with
  /// enable_input_require_grads of Hugging Face's transformers; it ends there.
  bool flows_from(const Parameter& table, const Value& y);
  /// Where a gradient goes that nobody asks for: zeros that no figure counts, for a device's kernel writes none. They
  /// stay until the rule ends.
  void* nowhere(Bytes bytes);
  /// The sum that gradients of learned numbers are added to. Null where there are no such numbers.
  void* sum(Parameter* p);
  /// The same of a bias of a product, and of its matrix, which may be written where nobody has yet; of frozen ones
  /// null.
  void* bias_sum(Parameter* p) { return p != nullptr && p->gradient ? sum(p) : nullptr; }
  Into matrix_sum(Parameter* p);
  /// Ends an operator's gradient rule.
  void end_rule();
  Kept keep(std::string_view op, const Value& x);
  /// What the gradient of a product's matrix reads: of a frozen one nothing.
  Kept keep_for(const Parameter* w, std::string_view op, const Value& x) { return w->gradient ? keep(op, x) : Kept(); }
  Into into(std::string_view op, const std::shared_ptr<TapeSlot>& x, Count elements);
  /// The destination of a gradient of strided rows; the gradient between them is zero.
  Into into_rows(std::string_view op, const std::shared_ptr<TapeSlot>& x, Count elements, bool apart);
  struct LastRows {
    Count first = 0, apart = 0;  ///< numbers before the first, and from one to the next
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
  /// f runs in backward, in the layer that is current now.
  void remember(std::string_view op, const Shape& shape, std::function<void()> rule);
  std::vector<double> mean_gradient(Count numbers) const;
  Dropout dice(std::string_view op) const;
  /// The current layer's; of a module that has none of its own the model's.
  Parameter* weight(std::string_view op, std::string_view what) const;
  const void* value(const Parameter* p) const { return weights_.numbers(p); }
  /// Whether the operator's weights are another's: the model's in a module, or the token table in a head.
  bool borrows(std::string_view op) const;
  /// The operator's matrix, or the token table: the model's, of which a module's ids choose rows unless it has one, and
  /// which a head has that has no other.
  Parameter& matrix(std::string_view op) const;
  /// The mean over the rows with a target; in backward its gradient, times `share`, takes the logits' place.
  struct ChunkedHead;
  void chunked_loss(std::string_view op, Value x, std::span<const std::int64_t> targets, double* mean);
  void chunk_forward(const ChunkedHead& h, Count first, Count n, double* mean);
  void chunk_backward(const ChunkedHead& h, Count first, Count n);
  void entropy(std::string_view op, const Value& logits, std::span<const std::int64_t> targets, double share,
               double* mean);
  /// Hands dy on as the gradient of `to`. alone: nobody else holds it.
  void share(std::string_view op, const Tensor& dy, const std::shared_ptr<TapeSlot>& to, Count elements, bool alone);
  void rotate(const RopePart& p, const Positions& at, void* x, bool inverse);
  void rope_at(std::string_view op, const Positions& at, const RopePart& a, const RopePart& b);
  struct NormNumbers {
    double offset = 0, epsilons = 1;
  };
  Value normed(std::string_view op, Value x, Norm shape, const NormNumbers& numbers, Count stride, Count first);
  struct Product {
    bool for_loss = false, detached = false;
    bool first = false;  ///< of the first token of each sequence
    Count from = 0;      ///< the first number of each row that it reads
    const Value* gates = nullptr;
  };
  Value product(std::string_view op, Value x, const Product& how);
  Value adapted(std::string_view op, Value x, const Product& how);
  Value gated(std::string_view op, Activation act, bool remade, Value a, Value b);
  struct LayerInput;
  LayerInput layer_input();
  Value with_layer_input(std::string_view op, PointwiseKind kind, bool remade, Value x);
  Value scaled(std::string_view op, const Pointwise& s, Value y, Value g);
  /// A shift whose last token lies in the state of `keeper`.
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
  Tensor kept_ids(std::string_view op, std::span<const std::int64_t> ids);
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
  /// The value without its numbers, for a rule that keeps those apart.
  static Value bare(const Value& x) { return {nullptr, x.rows, x.width, x.slot}; }
  StreamView streams_of(std::string_view gather_op, const Value& x, const Tensor& x_data, const Value& weights,
                        const Tensor& weight_data) const;
  Count saved_before(bool is_first) const;
  using ViewOfMix = std::function<MixView(const std::vector<const void*>&)>;
  void remember_mix(std::string_view op, const Pointwise& s, std::vector<Value> all, const ViewOfMix& view,
                    const std::shared_ptr<TapeSlot>& y);
  struct CoreKept;
  /// is_kept: backward reads it; passing: it is there while the core runs alone.
  CoreKept core_kept(std::string_view op, const Attention& s, bool is_kept, bool passing);
  /// The core's inputs in these tensors.
  using ReadInputs = std::function<AttentionInputs(const std::vector<Tensor>&)>;
  void remember_attention(std::string_view op, const Attention& s, const CoreLayout& l, const std::vector<Value>& in,
                          const Value& y, const ReadInputs& reading, const Dropout& d, CoreKept kept);

  const Arch& arch_;
  Backend& backend_;
  Arena& arena_;
  Weights& weights_;
  const Settings& settings_;
  const Step whole_;  ///< of both stacks
  Step step_;         ///< as the current layer sees it
  LayerKinds kinds_;
  LayerKind no_layer_, module_layer_;
  std::vector<HandedOn> handing_;
  std::map<Count, KeysAndValues> handed_;  ///< by the layer that made them
  /// In training the places of their gradients, also of makers that run again and make new ones.
  std::map<Count, std::array<std::shared_ptr<TapeSlot>, 2>> awaited_;
  KeysAndValues given_;
  std::vector<Value> saved_;  ///< residual streams
  Value layer_inputs_;
  Tensor ids_;                            ///< of the tokens, which all tables that they choose rows of keep once
  std::vector<DocumentRange> documents_;  ///< of every token of a packed sequence in training
  Rotaries rotaries_;
  Trace* trace_;
  Tape* tape_;
  Cache* cache_;
  Count layer_ = -1;
  Direction direction_ = Direction::forward;
  double loss_scale_ = 1;
  Tensor choice_;                       ///< kept where later layers share it, until one makes its own
  std::vector<std::int64_t> segments_;  ///< of every token
  std::vector<Value> judged_;
  Value unprojected_;  ///< what chunked logits are made of, until their loss
  const std::atomic<bool>* stop_ = nullptr;
  bool checking_ = false;
  std::deque<Unpacked> unasked_;                             ///< what nowhere() gave
  std::vector<std::pair<Parameter*, const void*>> rounded_;  ///< sums of a rule that are added to gradients of 2 bytes
  std::vector<std::int64_t> both_;                           ///< ids of two stacks
  std::deque<std::vector<std::int64_t>> further_;
  std::optional<Count> looked_at_;
  Value encoded_;
  std::array<Value, 2> distances_;  ///< of a stack that sees both ways, and of one that looks back
  Value made_;                      ///< checking: the last result that was made room for
};

/// Thrown between operators after the user asked to stop.
struct Stopped {};

/// A loss, a gradient or a result that is not a number: where, in a sentence.
class NotANumber : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace llmcalc::model
