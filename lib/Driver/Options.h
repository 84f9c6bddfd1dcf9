//===- Options.h - what a user asks of the driver ---------------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_DRIVER_OPTIONS_H
#define ATTENTILE_LIB_DRIVER_OPTIONS_H

#include "attentile/Check.h"
#include "attentile/Pipeline.h"
#include <string>
#include <vector>

namespace attentile {

/// How the driver ends (DESIGN, section 2).
enum ExitCode : int {
  exitSuccess = 0,
  exitWrongProgram = 1, ///< or a broken constraint, a failed check
  exitWrongCall = 2,    ///< flags, files
};

/// NAME=FILE of --in and --out.
struct NamedFile {
  std::string name, path;
};

/// What every command takes.
struct CommonOptions {
  std::string source;            ///< the .attn file; "-" is standard input
  std::vector<std::string> bind; ///< each as D=128,T=bf16
  std::string kernel, schedule;
  /// Or sm_80, sm_86, sm_89, sm_90; "gpu": that of this machine; "auto": the
  /// GPU if there is one, else the CPU.
  std::string target = "cpu";
  std::string cpu = "native";
  bool jsonDiagnostics = false;
  bool remarks = false; ///< print what the passes decided
  PipelineOptions pipeline;
  /// The flags that `pipeline` and the target were made of, as they were given.
  std::string pipelineFlags;
};

struct RunCommandOptions : CommonOptions {
  std::vector<NamedFile> inputs, outputs;
  std::string saveInputs; ///< a folder; empty: not saved
  uint64_t seed = 1;
  unsigned threads = 0; ///< 0: as many as the processor affinity has
  unsigned repeat = 1;
  bool verify = false;
  bool checkBounds = false;
};

struct CompileCommandOptions : CommonOptions {
  /// What to write. Default: an object file and the C header beside it.
  /// On a GPU: a cubin and the manifest beside it.
  enum Emit {
    ObjectAndHeader,
    AST,
    Attn,
    Tile,
    Warp,
    LLVM,
    PTX,
    Object,
    Cubin,
    Header
  };
  Emit emit = ObjectAndHeader;
  bool lineInfo = false; ///< GPU: lines of the source in PTX and cubin
  std::string output;
};

struct CheckCommandOptions : CommonOptions {
  uint64_t seed = 1;
  unsigned threads = 0;
  bool eachPass = false;
  Coverage coverage = Coverage::Pairs;
  std::string only, after; ///< one configuration; one pass
  std::string prepare;     ///< a folder; empty: the runs happen here
};

struct ExplainCommandOptions : CommonOptions {
  std::vector<std::string> sizes; ///< each as M=4096; what --bind leaves open
  bool json = false;
  std::string html;             ///< a file for the page; empty: none
  unsigned multiprocessors = 0; ///< of the GPU; 0: those of the usual one
};

int explainCommand(const ExplainCommandOptions &options);
int runCommand(const RunCommandOptions &options);
int compileCommand(const CompileCommandOptions &options);
int checkCommand(const CheckCommandOptions &options);

} // namespace attentile

#endif
