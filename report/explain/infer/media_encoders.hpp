#pragma once
/// Bytes of a model's vision and audio encoders.

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

inline constexpr std::string_view media_encoder_sources =
    "huggingface/transformers: quantized checkpoints keep vision and audio encoders in 16 bits; the checkpoint's "
    "header";
inline constexpr std::string_view media_encoder_convention =
    "16 bits per parameter, or the formats in the checkpoint's header; replicated on every rank that has the token "
    "embedding, except image-only layers, which are sharded across tensor-parallel ranks; excluded with --no-towers "
    "and for llama.cpp";

inline Formula media_encoder_bytes(const Setting& s) {
  const MediaEncoders& t = s.request().model.media_encoders;
  const Count cut = s.plan().cut_media_encoders.value;
  if (s.plan().media_encoders == Bytes()) return {"0"};
  Formula f = t.held ? Formula{"M_tow",
                               {{"M_tow", "bytes of the encoders' tensors in the checkpoint's header",
                                 number_text(t.held->value - cut)}}}
                     : Formula{"2*(N_vis + N_aud + N_proj)",
                               {{"N_vis", "parameters of the vision encoder", number_text(t.vision)},
                                {"N_aud", "parameters of the audio encoder", number_text(t.audio)},
                                {"N_proj", "parameters of the projector", number_text(t.projector)}}};
  if (cut == 0) return f;
  f.expression += " + ceil(M_img/T)";
  f.own.push_back({"M_img", "bytes of the image-only layers", number_text(cut)});
  return f;
}

}  // namespace llmcalc::explain
