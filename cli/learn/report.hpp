#pragma once
/// What was learnt, beside what counting tokens would have said.

#include "cli/learn/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// How the run went in this call.
struct LearnOutcome {
  model::Progress progress;
  double held_out_loss = 0;  ///< of the weights in the checkpoint, over `held_out_tokens`
  Count tokens = 0;          ///< learnt from in this call
  double seconds = 0;        ///< that it took, evaluations and checkpoints included
  bool interrupted = false;
};

Report learn_report(const LearnRequest& r, const model::Corpus& corpus, const LearnOutcome& o);

}  // namespace llmcalc
