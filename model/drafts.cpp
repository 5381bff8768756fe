// MTP modules: their inputs and predictions in training and as drafts during generation.

#include <algorithm>

#include "calc/block/program.hpp"
#include "model/transformer.hpp"

namespace llmcalc::model {
namespace {

/// For every token in sequences of `length`, the token `by` positions ahead; `rest` past the end of a sequence.
std::vector<std::int64_t> ahead(std::span<const std::int64_t> tokens, Count length, Count by, std::int64_t rest) {
  std::vector<std::int64_t> all(tokens.size(), rest);
  for (Count i = 0; i < static_cast<Count>(tokens.size()); ++i)
    if (i % length + by < length) all[static_cast<std::size_t>(i)] = tokens[static_cast<std::size_t>(i + by)];
  return all;
}

/// The sequences of a drafting pass: verified tokens, followed by drafts.
class DraftedTexts {
 public:
  DraftedTexts(const Backend& backend, std::span<const std::int64_t> ids, Count sequences)
      : backend_(backend), ids_(ids), sequences_(sequences), queries_(static_cast<Count>(ids.size()) / sequences) {}

  /// Accepts tokens by the model's logits: if these cover every token, the drafts on which the model agrees in all
  /// sequences; if they cover only the last token of each sequence, all tokens.
  void keep(const Value& logits) {
    const std::vector<std::int64_t> chosen = choices(logits);
    const Count rows = logits.rows / sequences_;
    saved_ = rows == 1 ? queries_ : queries_ - 1;
    for (Count s = 0; s < sequences_ && rows > 1; ++s) saved_ = std::min(saved_, agreed(s, chosen));
    if (rows > 1) ++saved_;
    for (Count s = 0; s < sequences_; ++s) {
      const auto first = ids_.begin() + s * queries_;
      known_.emplace_back(first, first + saved_).push_back(chosen[index(s * rows + (rows == 1 ? 0 : saved_ - 1))]);
    }
  }
  /// Appends a module's drafts, chosen by its logits for one token of each sequence.
  void draft(const Value& logits) {
    const std::vector<std::int64_t> chosen = choices(logits);
    for (Count s = 0; s < sequences_; ++s) known_[index(s)].push_back(chosen[index(s)]);
  }
  /// The tokens k positions ahead of the pass's tokens; 0 past the end of a sequence.
  std::vector<std::int64_t> tokens_ahead(Count k) const {
    std::vector<std::int64_t> all;
    for (const std::vector<std::int64_t>& known : known_)
      for (Count i = k; i < queries_ + k; ++i)
        all.push_back(i < static_cast<Count>(known.size()) ? known[index(i)] : 0);
    return all;
  }
  Count saved() const { return saved_; }
  Drafts drafts() const {
    Drafts d{saved_, {}};
    for (const std::vector<std::int64_t>& known : known_)
      d.tokens.insert(d.tokens.end(), known.begin() + saved_, known.end());
    return d;
  }

 private:
  static std::size_t index(Count i) { return static_cast<std::size_t>(i); }
  /// Index of the largest logit of every row.
  std::vector<std::int64_t> choices(const Value& logits) const {
    std::vector<double> numbers(index(logits.elements()));
    backend_.read(numbers, logits.data->data(), false);
    std::vector<std::int64_t> chosen;
    for (auto row = numbers.begin(); row != numbers.end(); row += logits.width)
      chosen.push_back(std::max_element(row, row + logits.width) - row);
    return chosen;
  }
  /// Number of leading drafts of a sequence that the model also chooses.
  Count agreed(Count s, const std::vector<std::int64_t>& chosen) const {
    Count n = 0;
    while (n + 1 < queries_ && chosen[index(s * queries_ + n)] == ids_[index(s * queries_ + n + 1)]) ++n;
    return n;
  }

  const Backend& backend_;
  std::span<const std::int64_t> ids_;
  Count sequences_, queries_, saved_ = 0;
  std::vector<std::vector<std::int64_t>> known_;
};

}  // namespace

void Transformer::ask_losses(Pass& pass, const Batch& batch, double* loss) {
  const Count length = pass.step().queries, modules = pass.step().mtp;
  const double share = settings_.further_share / static_cast<double>(modules);
  const Apart one(backend_, Bytes(sizeof(double)));
  forward_further(pass, batch.ids, [&](Count k, Value y) {
    if (k == 0) {
      pass.loss("head.loss", std::move(y), batch.targets, loss);
    } else {
      const auto targets = pass.hold(ahead(batch.targets, length, k, -1));
      pass.further_loss("head.loss", std::move(y), targets, share, static_cast<double*>(one.data()), loss);
    }
    return Further{pass.hold(ahead(batch.ids, length, k + 1, 0))};
  });
}

Drafts Transformer::drafted(std::span<const std::int64_t> ids, Count sequences, Count past, Cache& cache,
                            Trace* trace) {
  const Count queries = static_cast<Count>(ids.size()) / sequences;
  Step s = past == 0 ? prefill_step(settings_.plan, queries) : drafting_step(settings_.plan, past + 1);
  s.sequences = sequences;
  s.queries = queries;
  Pass pass(arch_, backend_, arena_, weights_, settings_, s, trace, nullptr, &cache);
  pass.watch(stop_);
  DraftedTexts texts(backend_, ids, sequences);
  forward_further(pass, ids, [&](Count k, const Value& y) {
    k == 0 ? texts.keep(y) : texts.draft(y);
    return Further{pass.hold(texts.tokens_ahead(k + 1)), texts.saved() - 1};
  });
  return texts.drafts();
}

}  // namespace llmcalc::model
