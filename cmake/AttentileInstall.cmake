# What `cmake --install` puts where. The tree works from wherever it is put or
# moved to: tools find LLVM's libraries by absolute path, and nothing of ours by
# one (test/Install).
#
#   bin/                       the tools (attentile_add_tool)
#   lib/                       the compiler's libraries (attentile_add_library)
#   lib/cmake/attentile/       find_package(attentile)
#   lib/libattentile-runtime.* the runtime, for programs without the compiler
#   lib/cmake/attentile-runtime/  find_package(attentile-runtime)
#   include/attentile/         the public headers, generated ones included
#   include/attentile-dialects/  Attn/Attn.h, Tile/Tile.h, pass declarations
#   share/attentile/examples/  the example kernels

include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION include FILES_MATCHING PATTERN "*.h")
foreach(root ${PROJECT_SOURCE_DIR}/dialects ${PROJECT_BINARY_DIR}/dialects)
  install(DIRECTORY ${root}/ DESTINATION include/attentile-dialects
          FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.h.inc" PATTERN "CMakeFiles" EXCLUDE)
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/ DESTINATION include/attentile-dialects
        FILES_MATCHING PATTERN "Passes.h.inc" PATTERN "CMakeFiles" EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION share/attentile
        FILES_MATCHING PATTERN "*.attn")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/attentile)

get_property(ATTENTILE_LIBRARIES GLOBAL PROPERTY ATTENTILE_LIBRARIES)
set(_package lib/cmake/attentile)
install(EXPORT attentileTargets NAMESPACE attentile:: DESTINATION ${_package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/attentileConfig.cmake.in
  ${PROJECT_BINARY_DIR}/attentileConfig.cmake INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attentileConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attentileConfig.cmake
              ${PROJECT_BINARY_DIR}/attentileConfigVersion.cmake DESTINATION ${_package})

set(_package lib/cmake/attentile-runtime)
install(EXPORT attentileRuntimeTargets FILE attentile-runtimeTargets.cmake
        NAMESPACE attentile:: DESTINATION ${_package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/attentile-runtimeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/attentile-runtimeConfig.cmake INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attentile-runtimeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attentile-runtimeConfig.cmake
              ${PROJECT_BINARY_DIR}/attentile-runtimeConfigVersion.cmake DESTINATION ${_package})
