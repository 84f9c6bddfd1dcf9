//===- attention.cpp - CPU speed beside sgemm and beside fewer passes -----===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   attentile-bench-cpu EXAMPLES_DIR [--rounds=N] [--workers=N] [--length=N]
//
// f32, B = 1, H = 8, D = E = 64, M = N = 2048 unless --length says otherwise.
// Each round runs every variant once and sgemm (2048 x 2048 x 2048) beside it,
// so that a drift of the machine moves all; the medians of the rounds' ratios
// are printed. `extra` is the memory beyond inputs and outputs: workspace, and
// scratch of all threads. FLOPs are 4 * H * M * N * D, halved for causal.
// Inputs are normally distributed. After sgemm a pause: OpenBLAS's workers spin
// for a while and would halve what follows.
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "Tile/Tile.h"
#include "attentile/EmitIR.h"
#include "attentile/Frontend.h"
#include "attentile/Native.h"
#include "attentile/Pipeline.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include <chrono>
#include <random>
#include <thread>
#include <unistd.h>

extern "C" {
void cblas_sgemm(int order, int transA, int transB, int m, int n, int k,
                 float alpha, const float *a, int lda, const float *b, int ldb,
                 float beta, float *c, int ldc);
char *openblas_get_corename(void);
void openblas_set_num_threads(int threads);
}

using namespace attentile;
using Clock = std::chrono::steady_clock;

static llvm::cl::opt<std::string> examples(llvm::cl::Positional,
                                           llvm::cl::Required,
                                           llvm::cl::desc("<examples>"));
static llvm::cl::opt<unsigned> runs("rounds", llvm::cl::init(9),
                                    llvm::cl::desc("rounds (median taken)"));
static llvm::cl::opt<unsigned>
    threads("workers", llvm::cl::init(0),
            llvm::cl::desc("threads; 0: processors this process may use"));
static llvm::cl::opt<int64_t> length("length", llvm::cl::init(2048),
                                     llvm::cl::desc("M and N"));

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

[[noreturn]] static void fail(const llvm::Twine &message) {
  llvm::errs() << "attentile-bench-cpu: " << message << "\n";
  std::exit(1);
}

namespace {
constexpr int64_t kHeads = 8, kHeadSize = 64;

/// One program compiled with some passes off.
struct Variant {
  std::string title, file;
  std::vector<std::string> disabled;
  bool causal;
  std::unique_ptr<NativeProgram> program;
  double compileSeconds = 0;
  int64_t workspaceBytes = 0, scratchBytes = 0;
  std::vector<double> seconds;

  double flops() const {
    double all = 4.0 * kHeads * length * length * kHeadSize;
    return causal ? all / 2 : all;
  }
};
} // namespace

/// Source to machine code, with the time that took.
static void compile(Variant &variant, const NativeTarget &target) {
  std::string path = examples + "/" + variant.file;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    fail("cannot read " + path + ": " + buffer.getError().message());
  auto start = Clock::now();
  SourceFile source(path, (*buffer)->getBuffer().str());
  Diagnostics diagnostics;
  SyntaxTree tree = parse(source, diagnostics);
  Bindings bindings;
  bindings.add("T=f32,B=1,H=8,D=64,E=64", diagnostics);
  bindings.set("M", BoundValue::ofInt(length));
  bindings.set("N", BoundValue::ofInt(length));
  if (variant.causal)
    bindings.set("G", BoundValue::ofInt(kHeads));
  auto kernel = check(tree, bindings, {}, diagnostics);
  if (!kernel || diagnostics.hasErrors())
    fail("errors in " + path);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = emit(context, *kernel);
  mlir::PassManager pm(&context, mlir::ModuleOp::getOperationName(),
                       mlir::PassManager::Nesting::Implicit);
  pm.enableVerifier(false);
  PipelineOptions options;
  options.disabledPasses = variant.disabled;
  buildTilePipeline(pm, options);
  if (!module || mlir::failed(pm.run(*module)))
    fail("cannot lower " + path);
  auto program = NativeProgram::compile(*module, target);
  if (!program)
    fail(llvm::toString(program.takeError()));
  variant.program = std::move(*program);
  variant.compileSeconds = secondsSince(start);
}

static HostTensor drawTensor(std::vector<int64_t> sizes, std::mt19937 &random) {
  HostTensor tensor = HostTensor::allocate(ElementType::F32, std::move(sizes));
  std::normal_distribution<float> normal;
  std::generate_n(static_cast<float *>(tensor.data), tensor.size(),
                  [&] { return normal(random); });
  return tensor;
}

static double runOnce(Variant &variant, const RunArguments &arguments) {
  RunOptions options;
  options.threads = threads;
  auto stats = variant.program->run(arguments, options);
  if (!stats)
    fail(llvm::toString(stats.takeError()));
  variant.workspaceBytes = stats->workspaceBytes;
  variant.scratchBytes = stats->scratchBytes;
  return stats->seconds;
}

/// OpenBLAS takes an SSE kernel on a processor newer than it is: a quarter of
/// the speed, and no bar to pass. It is then told what the processor has.
static void chooseOpenBLASCore(char **argv) {
  llvm::StringRef core = openblas_get_corename();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  bool outdated =
      features.lookup("avx2") &&
      llvm::is_contained({"Prescott", "Core2", "Penryn", "Dunnington",
                          "Nehalem", "Atom", "Katmai", "Northwood"},
                         core);
  if (!outdated || getenv("OPENBLAS_CORETYPE"))
    return;
  setenv("OPENBLAS_CORETYPE",
         features.lookup("avx512f") ? "SkylakeX" : "Haswell", 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  chooseOpenBLASCore(argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "CPU attention benchmark\n");
  auto target = NativeTarget::select("native");
  if (!target)
    fail(llvm::toString(target.takeError()));
  unsigned used = threads ? unsigned(threads) : availableThreads();
  openblas_set_num_threads(used);
  llvm::outs() << "OpenBLAS core: " << openblas_get_corename() << ", " << used
               << " threads, M = N = " << length << "\n";

  std::vector<Variant> variants;
  auto add = [&](const char *title, const char *file,
                 std::vector<std::string> disabled, bool causal) {
    variants.push_back(
        {title, file, std::move(disabled), causal, {}, 0, 0, 0, {}});
    compile(variants.back(), *target);
  };
  add("full", "01-attention.attn", {}, false);
  add("causal", "02-causal.attn", {}, true);
  add("causal, no fusion", "02-causal.attn", {"tile-fuse-online-softmax"},
      true);
  add("causal, no fusion, no skipping", "02-causal.attn",
      {"tile-fuse-online-softmax", "tile-skip-masked-blocks"}, true);

  std::mt19937 random(1);
  std::vector<int64_t> shape = {1, kHeads, length, kHeadSize};
  HostTensor q = drawTensor(shape, random), k = drawTensor(shape, random),
             v = drawTensor(shape, random);
  HostTensor o = HostTensor::allocate(ElementType::F32, shape);
  HostTensor l = HostTensor::allocate(ElementType::F32, {1, kHeads, length});
  HostTensor scale = HostTensor::scalar(ElementType::F32, 0.125);

  constexpr int kSize = 2048;
  HostTensor a = drawTensor({kSize, kSize}, random),
             b = drawTensor({kSize, kSize}, random),
             c = drawTensor({kSize, kSize}, random);
  std::vector<double> gemm;
  for (unsigned round = 0; round <= runs; ++round) { // round 0 warms up
    double seconds = 0;
    for (int i = 0; i < 2; ++i) { // the first wakes the processor
      auto start = Clock::now();
      cblas_sgemm(101, 111, 111, kSize, kSize, kSize, 1.0f,
                  static_cast<float *>(a.data), kSize,
                  static_cast<float *>(b.data), kSize, 0.0f,
                  static_cast<float *>(c.data), kSize);
      seconds = secondsSince(start);
    }
    if (round)
      gemm.push_back(seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    for (Variant &variant : variants) {
      RunArguments arguments;
      arguments.tensors = {q, k, v, scale, o};
      if (variant.causal)
        arguments.tensors.push_back(l);
      runOnce(variant, arguments); // likewise
      seconds = runOnce(variant, arguments);
      if (round)
        variant.seconds.push_back(seconds);
    }
  }

  double gemmRate = 2.0 * kSize * kSize * kSize / median(gemm) / 1e9;
  llvm::outs() << llvm::format("%-30s %8s %8s %8s %9s %10s %9s\n", "variant",
                               "ms", "GFLOP/s", "of sgemm", "of causal",
                               "compile ms", "extra KiB");
  llvm::outs() << llvm::format("%-30s %8.2f %8.1f %8.2f\n", "sgemm 2048",
                               median(gemm) * 1e3, gemmRate, 1.0);
  const Variant &causal = variants[1];
  for (const Variant &variant : variants) {
    std::vector<double> ofGemm, slower;
    for (size_t i = 0; i < gemm.size(); ++i) {
      ofGemm.push_back(variant.flops() / variant.seconds[i] /
                       (2.0 * kSize * kSize * kSize / gemm[i]));
      slower.push_back(variant.seconds[i] / causal.seconds[i]);
    }
    double seconds = median(variant.seconds);
    llvm::outs() << llvm::format(
        "%-30s %8.2f %8.1f %8.2f %8.2fx %10.0f %9.0f\n", variant.title.c_str(),
        seconds * 1e3, variant.flops() / seconds / 1e9, median(ofGemm),
        median(slower), variant.compileSeconds * 1e3,
        double(variant.workspaceBytes + variant.scratchBytes) / 1024);
  }
  return 0;
}
