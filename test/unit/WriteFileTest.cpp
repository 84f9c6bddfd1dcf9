//===- WriteFileTest.cpp - tests of attentile/WriteFile.h -----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/WriteFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace attentile;

static int countFiles(llvm::StringRef folder) {
  int count = 0;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end;
       it.increment(code))
    ++count;
  return count;
}

/// A process that is interrupted in the middle of a file leaves none behind.
TEST(WriteFile, InterruptedInTheMiddle) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("write-test", folder));
  llvm::SmallString<128> path = folder;
  llvm::sys::path::append(path, "x");
  int begun[2];
  ASSERT_EQ(pipe(begun), 0);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A parent in the background ignores the signal; handlers that a test
    // before this one had installed must be installed again after that.
    llvm::sys::unregisterHandlers();
    signal(SIGINT, SIG_DFL);
    llvm::consumeError(writeFile(path, [&](llvm::raw_ostream &os) {
      os << "half of it";
      os.flush();
      (void)!write(begun[1], "x", 1);
      sleep(60);
    }));
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(begun[0], &byte, 1), 1);
  EXPECT_EQ(countFiles(folder), 1); // the temporary one
  EXPECT_FALSE(llvm::sys::fs::exists(path));
  kill(child, SIGINT);
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
  EXPECT_EQ(countFiles(folder), 0);
  llvm::sys::fs::remove_directories(folder);
}

TEST(WriteFile, ReplacesTheOldFile) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("write-test", "txt", path));
  for (llvm::StringRef text : {"first", "second"}) {
    llvm::Error error =
        writeFile(path, [&](llvm::raw_ostream &os) { os << text; });
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    auto buffer = llvm::MemoryBuffer::getFile(path);
    ASSERT_TRUE(bool(buffer));
    EXPECT_EQ((*buffer)->getBuffer(), text);
  }
  llvm::sys::fs::remove(path);
}
