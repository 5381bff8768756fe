#pragma once
/// Documents of a packed sequence (Plan::documents). A token attends within its own document, and positions restart at
/// 0 in each.

#include <vector>

#include "calc/arch.hpp"
#include "calc/plan.hpp"

namespace llmcalc::model {

/// Tokens [first, end) of a sequence.
struct DocumentRange {
  Count first = 0, end = 0;
};

/// The document of every token of a sequence; empty if a sequence is one document.
std::vector<DocumentRange> documents_by_token(const Documents& runs);

/// Whether the model's layers can separate documents. Recurrences, convolutions, indexers and pooled keys treat a
/// sequence as one document.
bool keeps_documents_apart(const Arch& arch);

}  // namespace llmcalc::model
