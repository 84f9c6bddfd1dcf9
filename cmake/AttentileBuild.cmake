# What every target shares: LLVM and MLIR as shared libraries, warnings,
# sanitizers, the precompiled header, and attentile_add_library.

if(NOT MLIR_DIR)
  find_program(ATTENTILE_LLVM_CONFIG NAMES llvm-config-22 llvm-config REQUIRED)
  execute_process(COMMAND ${ATTENTILE_LLVM_CONFIG} --prefix OUTPUT_VARIABLE _llvm_prefix
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(MLIR_DIR "${_llvm_prefix}/lib/cmake/mlir")
  set(LLVM_DIR "${_llvm_prefix}/lib/cmake/llvm")
endif()
find_package(MLIR 22.1 REQUIRED CONFIG)
find_package(Threads REQUIRED)
foreach(_target ${LLVM_NATIVE_ARCH} NVPTX)
  if(NOT _target IN_LIST LLVM_TARGETS_TO_BUILD)
    message(FATAL_ERROR "expected an LLVM with the target ${_target}, got ${LLVM_TARGETS_TO_BUILD}")
  endif()
endforeach()

set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR}) # else mlir-doc writes outside the build folder
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# -O3 buys a compiler nothing and costs compile time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/dialects
                    ${PROJECT_BINARY_DIR}/dialects ${PROJECT_BINARY_DIR}/lib)
separate_arguments(_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${_llvm_definitions})

# One code model for libraries and tools, so that all share the precompiled header.
add_compile_options(-fPIC -Wall -Wextra -Wno-unused-parameter
                    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-nested-anon-types>
                      -Werror=return-type)
  # ccache can only reuse a precompiled header that carries no time stamp.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  if(EXISTS /usr/bin/ld.lld-22)
    add_link_options(--ld-path=/usr/bin/ld.lld-22)
  endif()
endif()
if(ATTENTILE_SANITIZE)
  # Not `function`: it reads before a function's first byte, where code made
  # while the program runs has nothing. Not `vptr`: LLVM's classes.
  add_compile_options(-fsanitize=${ATTENTILE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=undefined -fno-sanitize=vptr,function)
  add_link_options(-fsanitize=${ATTENTILE_SANITIZE})
endif()
if(ATTENTILE_ASSERTIONS)
  remove_definitions(-DNDEBUG)
  add_definitions(-UNDEBUG)
endif()

find_program(ATTENTILE_CCACHE ccache)
if(ATTENTILE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${ATTENTILE_CCACHE})
endif()

# The target that owns the precompiled header; the others reuse it.
if(ATTENTILE_PCH)
  # Not file(WRITE): it would touch the file, and so rebuild everything, whenever
  # CMake runs again.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch.cpp
    CONTENT "// owns the precompiled header\n")
  add_library(AttentilePCH OBJECT ${PROJECT_BINARY_DIR}/pch.cpp)
  target_precompile_headers(AttentilePCH PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
endif()

# attentile_add_library(NAME file.cpp ... [LINK lib ...] [NO_PCH])
# A static library of the project; every one sees all generated headers, is
# installed and is a target of the CMake package.
function(attentile_add_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(TARGET attentile-tablegen)
    add_dependencies(${name} attentile-tablegen)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  target_include_directories(${name} INTERFACE
    $<INSTALL_INTERFACE:include> $<INSTALL_INTERFACE:include/attentile-dialects>)
  install(TARGETS ${name} EXPORT attentileTargets ARCHIVE DESTINATION lib)
  set_property(GLOBAL APPEND PROPERTY ATTENTILE_LIBRARIES ${name})
  if(NOT ARG_NO_PCH)
    target_link_libraries(${name} PUBLIC MLIR LLVM)
    if(ATTENTILE_PCH)
      target_precompile_headers(${name} REUSE_FROM AttentilePCH)
    endif()
  endif()
endfunction()

# attentile_add_tool(NAME file.cpp ... LINK lib ...): an executable that ends
# in bin/ and finds LLVM's shared libraries from wherever it is installed.
function(attentile_add_tool name)
  cmake_parse_arguments(ARG "NO_INSTALL" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} attentile-tablegen)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  if(ATTENTILE_PCH)
    target_precompile_headers(${name} REUSE_FROM AttentilePCH)
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
    INSTALL_RPATH "$ORIGIN/../lib;${LLVM_LIBRARY_DIR}")
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${name} RUNTIME DESTINATION bin)
  endif()
endfunction()

add_custom_target(attentile-tablegen)
# attentile_tablegen(FILE.td OUT1 ARG... ; see mlir_tablegen) collects targets.
function(attentile_public_tablegen_target name)
  add_public_tablegen_target(${name})
  add_dependencies(attentile-tablegen ${name})
endfunction()
