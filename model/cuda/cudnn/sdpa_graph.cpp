#include "model/cuda/cudnn/sdpa_graph.hpp"

namespace llmcalc::model::cuda::cudnn {

Graph sdpa_graph(const SdpaShape& s) {
  Graph g;
  SdpaGraph<Graph>(g, s).write();
  return g;
}

}  // namespace llmcalc::model::cuda::cudnn
