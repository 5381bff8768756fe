// Where cuDNN's headers were not found: attention by cuDNN that only says so.

#include "model/cuda/cudnn/attention.hpp"

namespace llmcalc::model::cuda {

struct CudnnAttention::Plans {};

CudnnAttention::CudnnAttention(void*) : missing_("this program was built without cuDNN's headers") {}
CudnnAttention::~CudnnAttention() = default;
std::string CudnnAttention::prepare(const SdpaShape&) { return missing_; }
SdpaRoom CudnnAttention::room(const SdpaShape& s) const { return sdpa_room(s, 0); }
std::string CudnnAttention::run(const Sdpa&, const SdpaScratch&) { return missing_; }

}  // namespace llmcalc::model::cuda
