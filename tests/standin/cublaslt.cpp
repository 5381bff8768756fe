// Stand-in for cuBLASLt: descriptions of matmuls, and small matmuls computed on the CPU.

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/standin/handles.hpp"
#include "tests/standin/memory.hpp"
#include "tests/standin/product.hpp"
#include "tests/standin/stream.hpp"

namespace llmcalc::standin {
namespace {

struct Library {};
struct Description {
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};
/// Alignments of A, B, C and D, and workspace bytes, that an algorithm may rely on.
struct Preference {
  std::array<std::uint32_t, 4> alignments;
  std::uint64_t workspace;
  std::uint32_t reductions;
};

// Never destroyed: the program's last calls come after the destruction of statics.
auto& libraries = *new Handles<Library>("handles of cuBLASLt");
auto& descriptions = *new Handles<Description>("descriptions of matmuls");
auto& layouts = *new Handles<Layout>("layouts of matrices");
auto& preferences = *new Handles<Preference>("preferences for matmuls");

/// The cuBLASLt status for a planned error.
cublasStatus_t status_of(cudaError_t planned) {
  return planned == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_EXECUTION_FAILED;
}
template <typename F>
cublasStatus_t product_call(const char* name, const F& f) {
  const cudaError_t planned = counted(name);
  return planned != cudaSuccess ? status_of(planned) : f();
}
template <typename F>
cublasStatus_t product_release(const char* name, const F& f) {
  f();
  const cudaError_t planned = counted(name);
  return planned != cudaSuccess ? status_of(planned) : CUBLAS_STATUS_SUCCESS;
}

/// Sets a member from an attribute's bytes. Their sizes must agree.
template <typename X>
cublasStatus_t set(X& to, const void* from, std::size_t bytes) {
  require(bytes == sizeof to, "an attribute of cuBLASLt is set with " + std::to_string(bytes) + " bytes");
  std::memcpy(&to, from, sizeof to);
  return CUBLAS_STATUS_SUCCESS;
}

/// The alignments and workspace of an algorithm, copied from its preference.
Preference preference_of(const cublasLtMatmulAlgo_t& a) {
  Preference p{};
  static_assert(sizeof p <= sizeof a);
  std::memcpy(&p, &a, sizeof p);
  return p;
}

void check_alignment(const void* p, std::uint32_t counted_on, const char* name) {
  require(reinterpret_cast<std::uintptr_t>(p) % counted_on == 0,
          std::string(name) + " of a matmul is less aligned than its algorithm requires");
}

void check_algorithm(const Preference& p, const Product& product, std::size_t workspace) {
  check_alignment(product.a.data, p.alignments[0], "A");
  check_alignment(product.b.data, p.alignments[1], "B");
  check_alignment(product.d.data, p.alignments[2], "C");
  check_alignment(product.d.data, p.alignments[3], "D");
  require(workspace >= p.workspace, "a matmul has less workspace than its algorithm requires");
}

}  // namespace

void require_no_product_handles() {
  libraries.require_none();
  descriptions.require_none();
  layouts.require_none();
  preferences.require_none();
}

}  // namespace llmcalc::standin

using namespace llmcalc::standin;

extern "C" {

std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusString(cublasStatus_t s) {
  switch (s) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
      return "a status of cuBLASLt";
  }
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* to) {
  return product_call("cublasLtCreate", [&] {
    libraries.make(to, Library());
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) {
  return product_release("cublasLtDestroy", [&] { libraries.destroy(h); });
}

// ---- descriptions

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* to, cublasComputeType_t compute, cudaDataType_t scale) {
  return product_call("cublasLtMatmulDescCreate", [&] {
    require(compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F,
            "the stand-in does not support the types of a matmul");
    descriptions.make(to, Description());
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  return product_release("cublasLtMatmulDescDestroy", [&] { descriptions.destroy(d); });
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t what,
                                              const void* value, std::size_t bytes) {
  return product_call("cublasLtMatmulDescSetAttribute", [&] {
    Description& d = descriptions.of(handle);
    switch (what) {
      case CUBLASLT_MATMUL_DESC_TRANSA:
        return set(d.transpose_a, value, bytes);
      case CUBLASLT_MATMUL_DESC_TRANSB:
        return set(d.transpose_b, value, bytes);
      case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return set(d.epilogue, value, bytes);
      case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return set(d.bias, value, bytes);
      default:
        broken("the stand-in does not support an attribute of a matmul");
    }
  });
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* to, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t ld) {
  return product_call("cublasLtMatrixLayoutCreate", [&] {
    require(type == CUDA_R_32F || type == CUDA_R_16BF, "the stand-in does not support the type of a matrix");
    layouts.make(to, Layout{type, rows, columns, ld});
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
  return product_release("cublasLtMatrixLayoutDestroy", [&] { layouts.destroy(l); });
}

// ---- algorithms

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* to) {
  return product_call("cublasLtMatmulPreferenceCreate", [&] {
    preferences.make(to, Preference{{256, 256, 256, 256}, 0, CUBLASLT_REDUCTION_SCHEME_MASK});
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  return product_release("cublasLtMatmulPreferenceDestroy", [&] { preferences.destroy(p); });
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t what, const void* value,
                                                    std::size_t bytes) {
  return product_call("cublasLtMatmulPreferenceSetAttribute", [&] {
    Preference& p = preferences.of(handle);
    switch (what) {
      case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        return set(p.workspace, value, bytes);
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
        return set(p.alignments[0], value, bytes);
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
        return set(p.alignments[1], value, bytes);
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
        return set(p.alignments[2], value, bytes);
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
        return set(p.alignments[3], value, bytes);
      case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        return set(p.reductions, value, bytes);
      default:
        broken("the stand-in does not support an attribute of a preference");
    }
  });
}
/// Two algorithms that rely on everything the preference allows.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int room,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  return product_call("cublasLtMatmulAlgoGetHeuristic", [&] {
    const Preference& p = preferences.of(preference);
    *count = std::min(room, 2);
    for (int i = 0; i < *count; ++i) {
      results[i] = {};
      std::memcpy(&results[i].algo, &p, sizeof p);
    }
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t workspace_bytes,
                              cudaStream_t stream) {
  return product_call("cublasLtMatmul", [&] {
    libraries.of(handle);
    const Description& said = descriptions.of(description);
    require(*static_cast<const float*>(alpha) == 1, "the stand-in does not support a scaled matmul");
    require(c == d && c_layout == d_layout, "the stand-in does not support adding a matmul to another matrix");
    Product p{{layouts.of(a_layout), a, said.transpose_a == CUBLAS_OP_T, "A"},
              {layouts.of(b_layout), b, said.transpose_b == CUBLAS_OP_T, "B"},
              {layouts.of(d_layout), d, false, "D"},
              *static_cast<const float*>(beta),
              said.epilogue == CUBLASLT_EPILOGUE_BIAS ? said.bias : nullptr};
    require(said.epilogue != CUBLASLT_EPILOGUE_BIAS || p.bias != nullptr, "a matmul's bias epilogue has no bias");
    check_algorithm(preference_of(*algorithm), p, workspace_bytes);
    const auto check = [=] {
      p.check();
      memory().require_live(workspace, workspace_bytes, "the workspace of a matmul");
    };
    stream_of(stream).submit({check, [=] { p.run(); }});
    return CUBLAS_STATUS_SUCCESS;
  });
}
}
