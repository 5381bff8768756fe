# What `cmake --install` puts where: the engine as a library that find_package(llmcalc) finds, and the program.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/llmcalc)

# The engine: include <calc/train.hpp>, link llmcalc::calc. It needs nothing besides the standard library.
install(TARGETS llmcalc_calc EXPORT llmcalc ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY calc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/llmcalc FILES_MATCHING PATTERN "*.hpp")
install(EXPORT llmcalc NAMESPACE llmcalc:: FILE llmcalc-config.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/llmcalc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/llmcalc-config-version.cmake DESTINATION ${package_dir})

# The program, its manual page, and what shells complete.
if(TARGET llmcalc)
  install(TARGETS llmcalc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET llmcalc_cuda)  # where the program looks for it: beside itself
    install(TARGETS llmcalc_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  install(FILES docs/llmcalc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES scripts/completions/llmcalc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME llmcalc)
  install(FILES scripts/completions/_llmcalc DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES scripts/completions/llmcalc.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
