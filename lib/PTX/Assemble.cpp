//===- Assemble.cpp - ptxas as a subprocess -------------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/PTX.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attentile {

std::string hashOf(StringRef bytes) {
  return toHex(SHA256::hash(arrayRefFromStringRef(bytes)), /*LowerCase=*/true);
}

/// The ptxas that the Python packages nvidia-cuda-nvcc* bring, in a folder of
/// the interpreter that PATH has.
static std::optional<std::string> findInPython() {
  ErrorOr<std::string> python = sys::findProgramByName("python3");
  if (!python)
    return std::nullopt;
  SmallString<128> lib(sys::path::parent_path(sys::path::parent_path(*python)));
  sys::path::append(lib, "lib");
  std::error_code error;
  for (sys::fs::directory_iterator entry(lib, error), end;
       !error && entry != end; entry.increment(error)) {
    if (!sys::path::filename(entry->path()).starts_with("python3"))
      continue;
    for (const char *site : {"site-packages", "dist-packages"})
      for (const char *package : {"cu13", "cuda_nvcc"}) {
        SmallString<128> path(entry->path());
        sys::path::append(path, site, "nvidia", package, "bin");
        sys::path::append(path, "ptxas");
        if (sys::fs::can_execute(path))
          return std::string(path);
      }
  }
  return std::nullopt;
}

std::optional<std::string> findPtxas() {
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  if (std::optional<std::string> home = sys::Process::GetEnv("CUDA_HOME")) {
    SmallString<128> path(*home);
    sys::path::append(path, "bin", "ptxas");
    if (sys::fs::can_execute(path))
      return std::string(path);
  }
  return findInPython();
}

namespace {
/// A file that is gone when this is.
struct TemporaryFile {
  SmallString<128> path;
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (!path.empty())
      (void)sys::fs::remove(path);
  }
  Error create(StringRef ending) {
    if (std::error_code error =
            sys::fs::createTemporaryFile("attentile", ending, path))
      return createStringError("cannot make a temporary file: %s",
                               error.message().c_str());
    return Error::success();
  }
  Expected<std::string> read() {
    auto buffer = MemoryBuffer::getFile(path);
    if (!buffer)
      return createStringError("cannot read '%s': %s", path.c_str(),
                               buffer.getError().message().c_str());
    return (*buffer)->getBuffer().str();
  }
};
} // namespace

/// Runs ptxas; what it printed, or an error if it could not be started. `code`
/// is its exit code.
static Expected<std::string>
runPtxas(StringRef program, ArrayRef<StringRef> arguments, int &code) {
  TemporaryFile out;
  if (Error error = out.create("txt"))
    return std::move(error);
  StringRef outPath(out.path);
  std::optional<StringRef> redirects[] = {StringRef(), outPath, outPath};
  std::string message;
  SmallVector<StringRef> all = {program};
  all.append(arguments.begin(), arguments.end());
  code = sys::ExecuteAndWait(program, all, std::nullopt, redirects,
                             /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  if (code < 0)
    return createStringError("cannot run '%s': %s", program.str().c_str(),
                             message.c_str());
  return out.read();
}

/// Registers and spills of `-v`: lines of a kernel follow the one that names
/// it.
static void readResources(StringRef text, GpuImage &image) {
  const Regex name("Compiling entry function '([^']+)'");
  const Regex spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  const Regex registers("Used ([0-9]+) registers");
  KernelResources *current = nullptr;
  SmallVector<StringRef> match;
  for (StringRef line : split(text, '\n')) {
    if (name.match(line, &match)) {
      current = &image.kernels[match[1]];
    } else if (current && spills.match(line, &match)) {
      match[1].getAsInteger(10, current->spillStores);
      match[2].getAsInteger(10, current->spillLoads);
    } else if (current && registers.match(line, &match)) {
      match[1].getAsInteger(10, current->registers);
    }
  }
}

/// The version that a ptxas says it has.
static Expected<std::string> versionOf(StringRef ptxas) {
  int code = 0;
  Expected<std::string> text = runPtxas(ptxas, {"--version"}, code);
  if (!text)
    return text.takeError();
  SmallVector<StringRef> match;
  if (!Regex("V([0-9.]+)").match(*text, &match))
    return createStringError("expected the version of '%s', got '%s'",
                             ptxas.str().c_str(),
                             StringRef(*text).trim().str().c_str());
  return match[1].str();
}

/// Writes what ptxas reads.
static Error writeSource(StringRef path, StringRef ptx) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (error)
    return createStringError("cannot write '%s'", path.str().c_str());
  stream << ptx;
  stream.close();
  if (stream.has_error()) {
    stream.clear_error();
    return createStringError("cannot write '%s'", path.str().c_str());
  }
  return Error::success();
}

/// Runs ptxas once at an optimisation level: the cubin and its resources.
static Expected<GpuImage> assembleOnce(StringRef source, StringRef ptxas,
                                       StringRef level, const GpuTarget &target,
                                       const GpuOptions &options,
                                       mlir::Location loc) {
  TemporaryFile cubin;
  if (Error error = cubin.create("cubin"))
    return std::move(error);
  std::string architecture = "-arch=" + target.name;
  // --split-compile=0: a thread a kernel.
  SmallVector<StringRef> arguments = {
      architecture, level, "-v", "--split-compile=0", source, "-o", cubin.path};
  if (options.lineInfo)
    arguments.push_back("-lineinfo");
  int code = 0;
  Expected<std::string> text = runPtxas(ptxas, arguments, code);
  if (!text)
    return text.takeError();
  // All errors are listed, up to hundreds for one mistake: the first is told.
  for (StringRef line : split(*text, '\n')) {
    bool isError = line.contains("; error") || line.contains("ptxas fatal");
    if (isError && code != 0)
      return createStringError("ptxas refused the PTX: %s",
                               line.trim().str().c_str());
    if (line.contains("; warning") || line.contains("Potential Performance"))
      mlir::emitWarning(loc) << "ptxas: " << line.split(':').second.trim();
  }
  if (code != 0)
    return createStringError("ptxas failed with code %d", code);
  GpuImage image;
  readResources(*text, image);
  Expected<std::string> bytes = cubin.read();
  if (!bytes)
    return bytes.takeError();
  image.cubin = std::move(*bytes);
  return image;
}

/// What all kernels write to and read from memory for want of registers.
static int64_t spillsOf(const GpuImage &image) {
  int64_t bytes = 0;
  for (const auto &kernel : image.kernels)
    bytes += kernel.second.spillStores + kernel.second.spillLoads;
  return bytes;
}

/// `ptx` asking, of each kernel that spilled below the limit of registers, for
/// one block a multiprocessor less; empty if there is none.
static std::string withFewerBlocks(StringRef ptx, const GpuImage &image) {
  constexpr int64_t kOfMultiprocessor = 65536, kMost = 255;
  std::string result;
  for (const auto &[name, use] : image.kernels) {
    size_t entry = ptx.find((".entry " + name + "(").str());
    size_t threadsAt = ptx.find(".reqntid ", entry);
    if (use.spillStores + use.spillLoads == 0 || use.registers == 0 ||
        threadsAt == StringRef::npos)
      continue;
    StringRef line = ptx.substr(threadsAt).split('\n').first;
    int64_t threads = 0;
    if (line.drop_front(StringRef(".reqntid ").size())
            .split(',')
            .first.trim()
            .getAsInteger(10, threads) ||
        threads <= 0)
      continue;
    int64_t blocks = kOfMultiprocessor / (threads * use.registers);
    // Registers come in eights: what one block less leaves must be more.
    if (use.registers + 8 > kMost || blocks < 2)
      continue;
    std::string asked = (".minnctapersm " + Twine(blocks - 1) + "\n").str();
    result = (ptx.take_front(threadsAt) + asked + ptx.substr(threadsAt)).str();
    ptx = result;
  }
  return result;
}

/// A kernel of more lines takes ptxas minutes at -O3, and spills about as much
/// as at -O1.
constexpr int64_t kLinesAtO3 = 20000;

/// Bytes: of all kernels. More does not come of what was moved up too far.
constexpr int64_t kSpillsNearLimit = 1024;

/// The lines of PTX of the longest kernel.
static int64_t longestKernel(StringRef ptx) {
  int64_t longest = 0;
  for (auto [entry, rest] = ptx.split(".entry "); !rest.empty();) {
    std::tie(entry, rest) = rest.split(".entry ");
    longest = std::max<int64_t>(longest, entry.count('\n'));
  }
  return longest;
}

Expected<GpuImage> assemble(StringRef ptx, StringRef ptxas,
                            const GpuTarget &target, const GpuOptions &options,
                            mlir::Location loc) {
  auto tryAt = [&](StringRef text, StringRef level) -> Expected<GpuImage> {
    TemporaryFile source;
    if (Error error = source.create("ptx"))
      return std::move(error);
    if (Error error = writeSource(source.path, text))
      return std::move(error);
    return assembleOnce(source.path, ptxas, level, target, options, loc);
  };
  StringRef level = longestKernel(ptx) > kLinesAtO3 ? "-O1" : "-O3";
  Expected<GpuImage> image = tryAt(ptx, level);
  if (!image)
    return image.takeError();
  auto retry = [&](StringRef text, StringRef level) -> Error {
    Expected<GpuImage> other = tryAt(text, level);
    if (!other)
      return other.takeError();
    if (spillsOf(*other) < spillsOf(*image))
      image = std::move(other);
    return Error::success();
  };
  // Where it wants room for another block, ptxas spills: it is asked for less.
  if (spillsOf(*image) > 0)
    if (std::string roomy = withFewerBlocks(ptx, *image); !roomy.empty())
      if (Error error = retry(roomy, level))
        return std::move(error);
  // Near the limit it spills what it moved up too far itself. At -O1 it moves
  // less; where nothing spills that is slower (docs/performance.md).
  if (int64_t spilled = spillsOf(*image);
      spilled > 0 && spilled <= kSpillsNearLimit && level != "-O1")
    if (Error error = retry(ptx, "-O1"))
      return std::move(error);
  Expected<std::string> version = versionOf(ptxas);
  if (!version)
    return version.takeError();
  image->version = std::move(*version);
  return image;
}

} // namespace attentile
