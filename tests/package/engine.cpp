/// Parameters of Llama-3.1 405B from the installed engine only.

#include <calc/parameters.hpp>
#include <iostream>

int main() {
  llmcalc::Arch a;
  a.layers = 126;
  a.hidden = a.embedding_width = 16384;
  a.vocabulary = 128256;
  a.heads = 128;
  a.kv_heads = 8;
  a.head_dim = 128;
  a.mlp = llmcalc::MlpKind::gated;
  a.activation = llmcalc::Activation::silu;
  a.mlp_width = 53248;
  a.norm = llmcalc::NormKind::rms_norm;

  const llmcalc::Count published = 405853388800;  // huggingface.co/meta-llama/Llama-3.1-405B, safetensors index
  const llmcalc::Count counted = llmcalc::parameters(a).total;
  std::cout << "Llama-3.1 405B: " << counted << " parameters, published " << published << "\n";
  return counted == published ? 0 : 1;
}
