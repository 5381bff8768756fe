#include "model/cuda/cudnn/attention.hpp"

#include <limits>
#include <map>
#include <optional>

#include "model/cuda/cudnn/plan.hpp"
#include "model/cuda/cudnn/sdpa_graph.hpp"

namespace llmcalc::model::cuda {

/// The plans of the requested shapes, with their state.
struct CudnnAttention::Plans {
  struct Entry {
    std::optional<cudnn::Plan> plan;
    std::string why_not;
  };

  explicit Plans(void* stream) {
    cudnn::check(cudnn::library().create(&handle), "starting");
    cudnn::check(cudnn::library().set_stream(handle, static_cast<cudaStream_t>(stream)), "taking a stream");
  }
  ~Plans() {
    all.clear();  // before their handle
    cudnn::library().destroy(handle);
  }
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  const Entry& of(const SdpaShape& s) {
    const auto [at, is_new] = all.try_emplace(s);
    if (is_new) try {
        at->second.plan.emplace(cudnn::Target{.handle = handle}, cudnn::sdpa_graph(s));
      } catch (const cudnn::Error& e) {
        at->second.why_not = e.what();
      }
    return at->second;
  }

  cudnnHandle_t handle = nullptr;
  std::map<SdpaShape, Entry> all;
};

CudnnAttention::CudnnAttention(void* stream) {
  try {
    name_ = "cuDNN " + cudnn::library().version_text();
    plans_ = std::make_unique<Plans>(stream);
  } catch (const cudnn::Error& e) {
    missing_ = e.what();
  }
}
CudnnAttention::~CudnnAttention() = default;

std::string CudnnAttention::prepare(const SdpaShape& s) { return plans_ == nullptr ? missing_ : plans_->of(s).why_not; }

SdpaRoom CudnnAttention::room(const SdpaShape& s) const { return sdpa_room(s, plans_->all.at(s).plan->workspace()); }

std::string CudnnAttention::run(const Sdpa& a, const SdpaScratch& scratch) {
  using namespace cudnn;  // the tensors' numbers
  float scale = a.scale, masked = -std::numeric_limits<float>::infinity(), one = 1;
  std::vector<std::int64_t> ids{q_id, k_id, v_id, o_id, statistics_id, scale_id, masked_id};
  std::vector<void*> pointers{
      const_cast<void*>(a.q), const_cast<void*>(a.k), const_cast<void*>(a.v), a.o, scratch.statistics, &scale, &masked};
  const auto also = [&](std::int64_t id, void* pointer) { ids.push_back(id), pointers.push_back(pointer); };
  if (a.shape.backward) {
    also(d_o_id, const_cast<void*>(a.d_o));
    also(dq_id, a.dq);
    also(dk_id, a.dk);
    also(dv_id, a.dv);
    also(one_id, &one);
    also(delta_id, scratch.delta);
    if (!a.shape.deterministic) also(dq_sum_id, scratch.dq_sum);
  }
  try {
    plans_->all.at(a.shape).plan->run(plans_->handle, ids, pointers, scratch.workspace);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace llmcalc::model::cuda
