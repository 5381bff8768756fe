# The layout of `cmake --install`: the libraries that find_package(llmcalc) finds, and the program.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/llmcalc)

# installed_libraries(SET FOLDER...): installs archives, headers and targets, which llmcalc-config.cmake includes as one
# set.
function(installed_libraries set)
  foreach(folder IN LISTS ARGN)
    cmake_path(GET folder FILENAME library)
    install(TARGETS llmcalc_${library} EXPORT ${set} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    cmake_path(GET folder PARENT_PATH above)
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/llmcalc/${above} FILES_MATCHING PATTERN "*.hpp")
  endforeach()
  install(EXPORT ${set} NAMESPACE llmcalc:: FILE llmcalc-${set}.cmake DESTINATION ${package_dir})
endfunction()

# The engine: include <calc/train.hpp>, link llmcalc::calc. It needs only the standard library.
installed_libraries(calc calc search serve)
# Reading of models and hardware, and reports: <presets/load.hpp>, <report/question.hpp>; needs fmt and nlohmann/json.
if(TARGET llmcalc_report)
  installed_libraries(edge text presets ask/request ask/answer evidence report)
endif()
# The C library: include <llmcalc.h>, link llmcalc::c, or pkg-config llmcalc.
if(TARGET llmcalc_c)
  install(TARGETS llmcalc_c EXPORT c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program OPTIONAL)
  install(FILES bindings/c/llmcalc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT program)
  install(EXPORT c NAMESPACE llmcalc:: FILE llmcalc-c.cmake DESTINATION ${package_dir})
  file(RELATIVE_PATH include_from_lib /${CMAKE_INSTALL_LIBDIR} /${CMAKE_INSTALL_INCLUDEDIR})
  configure_file(cmake/llmcalc.pc.in ${PROJECT_BINARY_DIR}/llmcalc.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/llmcalc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT program)
endif()
install(FILES cmake/llmcalc-config.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/llmcalc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/llmcalc-config-version.cmake DESTINATION ${package_dir})

# The program, its libraries and data, manual page and completions.
if(TARGET llmcalc-core)
  # The locations that text/installed.cpp expects. The kernel library is optional, so that a build of llmcalc-core can
  # be installed.
  install(TARGETS llmcalc-core RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(TARGETS llmcalc_kernels LIBRARY DESTINATION lib/llmcalc COMPONENT program OPTIONAL)
  if(TARGET llmcalc_cuda)
    install(TARGETS llmcalc_cuda LIBRARY DESTINATION lib/llmcalc COMPONENT program OPTIONAL)
  endif()
  install(DIRECTORY ${PROJECT_BINARY_DIR}/cli/measurements DESTINATION share/llmcalc COMPONENT program)
  install(FILES docs/llmcalc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES scripts/completions/llmcalc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME llmcalc COMPONENT program)
  install(FILES scripts/completions/_llmcalc DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
  install(FILES scripts/completions/llmcalc.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT program)
endif()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
        FILES_MATCHING REGEX "/docs/[^/]*[.](md|svg|ipynb|schema[.]json)$" REGEX "/docs/(examples|cases)/")
