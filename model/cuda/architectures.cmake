# The compute capabilities that the CUDA backend is compiled for.

# Lowest capability of the kernels: cp.async and bf16 tensor cores.
set(llmcalc_lowest_capability 80)

# capabilities_of_cards(OUT): capabilities of the cards here, as nvidia-smi lists them; empty if it lists none.
function(capabilities_of_cards out)
  set(found "")
  find_program(LLMCALC_NVIDIA_SMI nvidia-smi PATHS /usr/lib/wsl/lib)
  mark_as_advanced(LLMCALC_NVIDIA_SMI)
  if(LLMCALC_NVIDIA_SMI)
    execute_process(COMMAND ${LLMCALC_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE listed RESULT_VARIABLE status ERROR_QUIET TIMEOUT 20)
    if(status EQUAL 0)
      string(REGEX MATCHALL "[0-9]+[.][0-9]+" found "${listed}")
      string(REPLACE "." "" found "${found}")
      list(REMOVE_DUPLICATES found)
    endif()
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# capabilities_of_compiler(OUT NVCC): those that nvcc generates code for.
function(capabilities_of_compiler out nvcc)
  execute_process(COMMAND ${nvcc} --list-gpu-code OUTPUT_VARIABLE listed ERROR_QUIET)
  string(REGEX MATCHALL "sm_[0-9]+" found "${listed}")
  string(REPLACE "sm_" "" found "${found}")
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# chosen_architectures(OUT CARDS COMPILER): machine code for the cards that the kernels and nvcc support, and PTX, which
# the driver compiles for any later card. Without such a card: Ampere and Hopper.
function(chosen_architectures out cards compiler)
  set(chosen "")
  foreach(card IN LISTS cards)
    if(card GREATER_EQUAL llmcalc_lowest_capability AND card IN_LIST compiler)
      list(APPEND chosen ${card}-real)
    endif()
  endforeach()
  if(NOT chosen)
    set(chosen 80-real 90-real)
  endif()
  set(${out} ${chosen} ${llmcalc_lowest_capability}-virtual PARENT_SCOPE)
endfunction()

function(llmcalc_cuda_architectures out nvcc)
  capabilities_of_cards(cards)
  capabilities_of_compiler(compiler ${nvcc})
  chosen_architectures(chosen "${cards}" "${compiler}")
  set(${out} ${chosen} PARENT_SCOPE)
endfunction()
