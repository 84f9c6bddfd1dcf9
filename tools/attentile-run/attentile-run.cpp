//===- attentile-run.cpp - checks prepared kernels on a GPU ---------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Needs the runtime alone: no LLVM (test/Runtime/attentile-run.test).
//
//===----------------------------------------------------------------------===//

#include "RunKernel.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attentile;

static constexpr char kHelp[] =
    R"(attentile-run checks compiled kernels on a GPU, without a compiler.

usage: attentile-run [options] DIR...

DIR is what `attentile check FILE.attn --target=sm_90 --prepare DIR` wrote, or a
folder of such folders. Every run is launched and compared with the values that
the float64 reference had.

  --device N       the GPU; default 0
  --only PATTERN   only runs whose name contains PATTERN
  --time           print the time of every run, the mean of 20 launches
  --list           print the names of the runs and launch nothing
  --listed         find lists of blocks by a launch of their own, before
  --help, --version

exit code: 0; 1 for a failed check; 2 for a wrong call or a set that cannot run
)";

namespace {
struct Options {
  RunOptions run;
  bool list = false;
  std::string only;
  std::vector<std::string> folders;
};

/// The runs of a set and what came of them.
struct Result {
  Tally tally;
  int runs = 0, failed = 0, skipped = 0;
  bool isLost = false; // the GPU does not answer any more
};
} // namespace

static int wrongCall(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 2;
}

/// Folders below `folder`, itself included, that have a set.json; sorted.
static void findSets(const std::string &folder,
                     std::vector<std::string> &sets) {
  struct stat info;
  if (stat((folder + "/set.json").c_str(), &info) == 0) {
    sets.push_back(folder);
    return;
  }
  std::vector<std::string> below;
  if (DIR *directory = opendir(folder.c_str())) {
    while (dirent *entry = readdir(directory)) {
      std::string path = folder + "/" + entry->d_name;
      if (entry->d_name[0] != '.' && stat(path.c_str(), &info) == 0 &&
          S_ISDIR(info.st_mode))
        below.push_back(path);
    }
    closedir(directory);
  }
  std::sort(below.begin(), below.end());
  for (const std::string &path : below)
    findSets(path, sets);
}

static void progress(const std::string &name, size_t done, size_t all) {
  static const bool isTerminal = isatty(STDERR_FILENO);
  if (!isTerminal)
    return;
  if (done == all)
    std::fprintf(stderr, "\r\033[K");
  else
    std::fprintf(stderr, "\r\033[K  %s %zu/%zu", name.c_str(), done + 1, all);
  std::fflush(stderr);
}

/// Opens kernel-N of a set.
static attentile_status openKernel(const std::string &folder, unsigned number,
                                   attentile_kernel **kernel) {
  std::string stem = folder + "/kernel-" + std::to_string(number);
  std::string manifest, cubin;
  if (!readFile(stem + ".json", manifest) || !readFile(stem + ".cubin", cubin))
    return attentile_open_file((stem + ".json").c_str(), kernel); // says why
  return attentile_open_memory(manifest.data(), manifest.size(), cubin.data(),
                               cubin.size(), nullptr, 0, kernel);
}

static void report(const ReadSet &set, const Result &result) {
  std::printf("  %-28s ", set.name.c_str());
  if (result.failed > 0) {
    std::printf("FAILED %d of %d runs", result.failed, result.runs);
  } else {
    std::printf("%3d runs  ok   worst %.2f of the bound", result.runs,
                result.tally.worstRatio);
    for (auto [type, norms] : result.tally.norms)
      if (norms.reference > 0)
        std::printf(", %s error %.1e", nameOf(type),
                    norms.error / norms.reference);
    if (result.tally.excluded > 0)
      std::printf(", %lld of %lld elements taken out",
                  static_cast<long long>(result.tally.excluded),
                  static_cast<long long>(result.tally.elements));
  }
  if (result.skipped > 0)
    std::printf(", %d skipped for lack of memory", result.skipped);
  std::printf("\n");
}

/// Runs a set; what fails is printed at once, the rest by report().
static Result runSet(const ReadSet &set, const Options &options) {
  Result result;
  attentile_kernel *kernel = nullptr;
  unsigned opened = 0;
  for (size_t i = 0; i < set.runs.size() && !result.isLost; ++i) {
    const PreparedRun &run = set.runs[i];
    if (run.name.find(options.only) == std::string::npos)
      continue;
    if (options.list) {
      std::printf("%s %s\n", set.name.c_str(), run.name.c_str());
      continue;
    }
    progress(set.name, i, set.runs.size());
    Outcome outcome;
    if (!kernel || opened != run.kernel) {
      attentile_close(kernel);
      kernel = nullptr;
      opened = run.kernel;
      if (openKernel(set.folder, run.kernel, &kernel))
        outcome = {Outcome::Failed, attentile_error_message(), 0};
    }
    if (kernel)
      outcome = runKernel(run, kernel, options.run, result.tally);
    if (outcome.kind == Outcome::NoMemory) {
      ++result.skipped;
      continue;
    }
    ++result.runs;
    if (outcome.kind != Outcome::Passed) {
      progress(set.name, 1, 1);
      ++result.failed;
      std::printf(
          "  %s\n    %s\n      %s\n      again: attentile-run %s --only "
          "%s\n",
          set.name.c_str(), run.name.c_str(), outcome.message.c_str(),
          set.folder.c_str(), run.name.c_str());
    } else if (options.run.launches > 0) {
      progress(set.name, 1, 1);
      std::printf("  %10.2f us  %s\n", outcome.seconds * 1e6, run.name.c_str());
    }
    std::fflush(stdout);
    result.isLost = outcome.kind == Outcome::Lost;
  }
  progress(set.name, 1, 1);
  attentile_close(kernel);
  return result;
}

static int parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value;
    size_t equals = argument.find('=');
    bool takesValue =
        argument.rfind("--device", 0) == 0 || argument.rfind("--only", 0) == 0;
    if (takesValue && equals != std::string::npos) {
      value = argument.substr(equals + 1);
      argument.resize(equals);
    } else if (takesValue) {
      if (++i == argc)
        return wrongCall("expected a value of " + argument + ", got none");
      value = argv[i];
    }
    if (argument == "--device") {
      char *end;
      options.run.device =
          static_cast<int32_t>(std::strtol(value.c_str(), &end, 10));
      if (value.empty() || *end)
        return wrongCall("expected the number of a GPU, got '" + value + "'");
    } else if (argument == "--only") {
      options.only = value;
    } else if (argument == "--time") {
      options.run.launches = 20;
    } else if (argument == "--list") {
      options.list = true;
    } else if (argument == "--listed") {
      options.run.listed = true;
    } else if (argument.rfind("-", 0) == 0) {
      return wrongCall("expected an option of attentile-run --help, got '" +
                       argument + "'");
    } else {
      options.folders.push_back(argument);
    }
  }
  if (options.folders.empty())
    return wrongCall("expected a folder, DIR, got none");
  return 0;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--help") || !std::strcmp(argv[i], "-h"))
      return std::fputs(kHelp, stdout), 0;
    if (!std::strcmp(argv[i], "--version"))
      return std::printf("attentile-run %s\n", attentile_runtime_version()), 0;
  }
  Options options;
  if (int code = parse(argc, argv, options))
    return code;
  std::vector<ReadSet> sets;
  for (const std::string &folder : options.folders) {
    std::vector<std::string> found;
    findSets(folder, found);
    if (found.empty())
      return wrongCall("expected a folder with a prepared set, got '" + folder +
                       "'");
    for (const std::string &path : found) {
      std::string error;
      if (!readSet(path, sets.emplace_back(), error))
        return wrongCall(path + ": " + error);
    }
  }
  if (!options.list) {
    char name[96];
    int32_t architecture;
    if (attentile_device_info(options.run.device, &architecture, name,
                              sizeof name))
      return wrongCall(attentile_error_message());
    std::printf("%s, sm_%d\n", name, architecture);
  }
  int runs = 0, failed = 0, skipped = 0;
  bool isLost = false;
  for (const ReadSet &set : sets) {
    Result result = runSet(set, options);
    runs += result.runs;
    failed += result.failed;
    skipped += result.skipped;
    isLost = result.isLost;
    if (!options.list && result.runs + result.skipped > 0)
      report(set, result);
    if (isLost) {
      std::printf(
          "the GPU does not answer after that failure; what follows was "
          "not run\n");
      break;
    }
  }
  if (options.list)
    return 0;
  if (runs + skipped == 0)
    return wrongCall("expected --only to match a run, got '" + options.only +
                     "'");
  std::printf("%d of %d runs passed\n", runs - failed, runs);
  return failed > 0 ? 1 : 0;
}
