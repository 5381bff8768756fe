#include "model/documents.hpp"

namespace llmcalc::model {

bool keeps_documents_apart(const Arch& a) {
  for (std::size_t i = 0; i <= a.mixers.size(); ++i) {
    const Mixer& m = a.mixer(i);
    const bool reads_all = m.recurrent.kind != RecurrentKind::none || m.indexer.kind != IndexerKind::none ||
                           m.attention == AttentionKind::compressed;
    if (reads_all) return false;
  }
  return a.linear_layers.empty() && !a.mlp_shift;
}

std::vector<DocumentRange> documents_by_token(const Documents& runs) {
  std::vector<DocumentRange> all;
  for (const DocumentRun& run : runs)
    for (Count i = 0; i < run.count; ++i) {
      const Count first = static_cast<Count>(all.size());
      all.insert(all.end(), static_cast<std::size_t>(run.length), {first, first + run.length});
    }
  return all;
}

}  // namespace llmcalc::model
