# The compute capabilities chosen for cards and compilers: cmake -P tests/cmake/cuda_architectures.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../../model/cuda/architectures.cmake)

function(expect cards compiler expected)
  chosen_architectures(chosen "${cards}" "${compiler}")
  if(NOT chosen STREQUAL expected)
    message(FATAL_ERROR "cards '${cards}', compiler '${compiler}': '${chosen}' instead of '${expected}'")
  endif()
endfunction()

set(cuda_13 75 80 86 87 88 89 90 100 103 110 120 121)
set(cuda_12_0 50 52 60 61 70 75 80 86 87 89 90)
expect("" "${cuda_13}" "80-real;90-real;80-virtual")             # no answer: no driver, or one without cards
expect("75" "${cuda_13}" "80-real;90-real;80-virtual")           # a T4, which the kernels do not support
expect("130" "${cuda_13}" "80-real;90-real;80-virtual")          # a card newer than nvcc: the driver compiles the PTX
expect("120" "${cuda_12_0}" "80-real;90-real;80-virtual")
expect("90" "${cuda_13}" "90-real;80-virtual")
expect("89;75" "${cuda_13}" "89-real;80-virtual")                # a GTX next to an RTX 4090
expect("86;90" "${cuda_12_0}" "86-real;90-real;80-virtual")
