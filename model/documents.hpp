#pragma once
/// Documents of a packed sequence (Plan::documents): a token attends within its own, where positions begin with 0.

#include <vector>

#include "calc/arch.hpp"
#include "calc/plan.hpp"

namespace llmcalc::model {

/// Tokens [first, end) of a sequence.
struct DocumentRange {
  Count first = 0, end = 0;
};

/// The document of every token of a sequence; none where a sequence is one document.
std::vector<DocumentRange> documents_by_token(const Documents& runs);

/// Whether the model's layers can keep documents apart: recurrences, convolutions, indexers and pooled keys take a
/// sequence for one.
bool keeps_documents_apart(const Arch& arch);

}  // namespace llmcalc::model
