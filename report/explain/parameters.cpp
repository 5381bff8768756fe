#include "calc/textbook/weights.hpp"
#include "report/explain/modules.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

template <Component c>
Formula component(S s) {
  return {textbook::parameters_of(s.arch(), s.sizes(), c).text()};
}
Expr all_of_them(S s) { return s.quantity("N", "parameters.total"); }
/// All parameters except the experts that a token does not visit, for this number of visited experts.
Formula visiting(S s, const Expr& visited) {
  return {(all_of_them(s) - textbook::idle_parameters(s.arch(), s.sizes(), visited)).text()};
}
Formula active(S s) {
  const Moe& m = s.arch().moe;
  return visiting(s, m.zero_experts > 0 ? Expr("k_r", m.top_k) : s.sizes().k);
}
Formula active_mean(S s) { return visiting(s, s.sizes().k); }
Formula active_least(S s) { return visiting(s, max(Expr(0), Expr("k_r", s.arch().moe.top_k) - s.sizes().n_I)); }
Formula matmul(S s) { return {textbook::matmul_weights(s.arch(), s.sizes()).text()}; }
Formula with_stored_head(S s) { return {(all_of_them(s) + s.sizes().V * s.sizes().D_e).text()}; }

Formula modules_beside(S s) {
  const ModuleFormulas module(s, 1);
  return module.formula(Expr("n_p", s.arch().mtp.modules) * module.parameters());
}

/// Encoder modules have no letters: the importer adds up their sizes.
Formula vision(S s) {
  return from_engine(s, "N_vis", "the modules of the config's vision_config, added up", "parameters.vision");
}
Formula audio(S s) {
  return from_engine(s, "N_aud", "the modules of the config's audio_config, added up", "parameters.audio");
}
Formula projector(S s) {
  return from_engine(s, "N_proj", "matrices and norms between the towers and the text model", "parameters.projector");
}

Formula cross(S s) {
  return from_engine(s, "N_img", "layers of the config's cross_attention_layers and rows of the table, added up",
                     "parameters.cross");
}

constexpr std::string_view counted = "trainable tensors; buffers and router correction biases are not parameters";
constexpr Definition parameter_table[] = {
    {"parameters.embedding", "parameters of the token table", "parameters", component<Component::embedding>,
     "with the projections to and from the hidden size, where there are any", "Goon (1.10), (2.2)"},
    {"parameters.position", "parameters of learned positions", "parameters", component<Component::position>,
     "rows of the table, once per model; RoPE, ALiBi and sinusoids have none", "Vaswani 2017 (arXiv:1706.03762)"},
    {"parameters.attention", "parameters of attention", "parameters", component<Component::attention>,
     "projections, biases, norms of queries and keys, sinks; keys and values have G heads",
     "Goon (1.2), (1.6), (2.2); GQA arXiv:2305.13245; MLA arXiv:2405.04434"},
    {"parameters.mlp", "parameters of MLPs", "parameters", component<Component::mlp>,
     "2 matrices, 3 if gated; router, experts, shared experts and gates", "Goon (1.8), (2.2); GLU arXiv:2002.05202"},
    {"parameters.norm", "parameters of norms", "parameters", component<Component::norm>,
     "LayerNorm 2 D, RMSNorm D; those of the blocks, the embedding and the last one",
     "Goon (1.1); RMSNorm arXiv:1910.07467"},
    {"parameters.lm_head", "parameters of the head", "parameters", component<Component::lm_head>,
     "0 where the token table is used again", "Goon (1.10)"},
    {"parameters.total", "parameters", "parameters", fixed<"N_emb + N_pos + N_attn + N_mlp + N_norm + N_head">, counted,
     "Goon (2.2), without its O(V/DL) and O(1/D)"},
    {"parameters.active", "parameters at work on each token", "parameters", active,
     "all but the routed experts that a token does not visit; the table and the head count",
     "DeepSeek-V3 (arXiv:2412.19437)"},
    {"parameters.active_mean", "parameters at work on each token, in the mean", "parameters", active_mean,
     "each choice of the router as likely as any other, so that k = ceil(k_r n_E / (n_E + n_I)) experts have weights",
     "LongCat-Flash (arXiv:2509.01322)", "experts that return their input"},
    {"parameters.active_least", "parameters at work on a token, at least", "parameters", active_least,
     "the router chooses as many experts that return their input as there are", "LongCat-Flash (arXiv:2509.01322)",
     "experts that return their input"},
    {"parameters.non_embedding", "parameters without embedding", "parameters", fixed<"N - N_emb - N_pos - N_head">,
     "no token table, no positions, no head", "Kaplan 2020 (arXiv:2001.08361)"},
    {"parameters.matmul", "weights that multiply each token", "parameters", matmul,
     "the head counts even where it is tied; tables, vectors and idle experts do not",
     "forward FLOPs are 2 of these per token: Narayanan 2021 (arXiv:2104.04473)"},
    {"parameters.mtp", "parameters of modules for further tokens", "parameters", modules_beside,
     "a layer, two norms and a projection of 2 D to D each; table and head where they are its own; in no other count",
     "DeepSeek-V3 (arXiv:2412.19437) 2.2", "a model with MTP modules"},
    {"parameters.vision", "parameters of the vision tower", "parameters", vision,
     "patches, positions, blocks and norms, and a merger where it is within the tower; beside them in memory of "
     "inference alone",
     "modelling code of huggingface/transformers, or of the checkpoint", "a model with a vision tower"},
    {"parameters.audio", "parameters of the audio tower", "parameters", audio,
     "convolutions, positions, layers and norms; beside them in memory of inference alone",
     "modelling code of huggingface/transformers", "a model with an audio tower"},
    {"parameters.projector", "parameters of the projector", "parameters", projector,
     "from the tower's rows to the text model's, where it is outside of the tower; beside them in memory of inference "
     "alone",
     "modelling code of huggingface/transformers, or of the checkpoint", "a model with a projector"},
    {"parameters.cross", "parameters of layers that read images alone", "parameters", cross,
     "attention to an image's rows, gates, MLP and norms, and rows of the token table for images; a text skips them; "
     "beside them in memory of inference alone",
     "modelling code of huggingface/transformers", "a model with layers for images"},
    {"parameters.with_stored_head", "parameters of a file that stores the tied head twice", "parameters",
     with_stored_head, counted, "published checkpoints", "a tied head"},
};

}  // namespace

std::span<const Definition> parameter_definitions() { return parameter_table; }

}  // namespace llmcalc::explain
