//===- Isolate.cpp - trials in processes of their own ---------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Isolate.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace json = llvm::json;

namespace attentile::random {

/// A process is renewed after so many programs: what LLVM keeps is given back.
static constexpr size_t kTrialsOfAProcess = 100;

//===----------------------------------------------------------------------===//
// Outcomes as lines
//===----------------------------------------------------------------------===//

static std::string lineOf(size_t number, const Outcome &outcome) {
  json::Object object{{"number", int64_t(number)},
                      {"kind", int64_t(outcome.kind)},
                      {"message", json::fixUTF8(outcome.message)},
                      {"configuration", outcome.configuration},
                      {"features", int64_t(outcome.features)},
                      {"runs", int64_t(outcome.runs)},
                      {"elements", outcome.elements},
                      {"excluded", outcome.excluded},
                      {"worst", outcome.worstRatio}};
  return llvm::formatv("{0}\n", json::Value(std::move(object))).str();
}

static Outcome outcomeOf(const json::Object &object) {
  Outcome outcome;
  outcome.kind = Outcome::Kind(*object.getInteger("kind"));
  outcome.message = object.getString("message")->str();
  outcome.configuration = object.getString("configuration")->str();
  outcome.features = *object.getInteger("features");
  outcome.runs = *object.getInteger("runs");
  outcome.elements = *object.getInteger("elements");
  outcome.excluded = *object.getInteger("excluded");
  outcome.worstRatio = object.getNumber("worst").value_or(0);
  return outcome;
}

/// Writes all of `text`, whatever the pipe takes at a time.
static void writeAll(int to, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t written = ::write(to, text.data(), text.size());
    if (written <= 0)
      _exit(1); // nobody reads
    text = text.drop_front(written);
  }
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

namespace {

using Clock = std::chrono::steady_clock;

/// A process that works on numbers from `next` on, each `stride` further.
struct Worker {
  size_t next = 0;
  pid_t process = -1;
  int from = -1;
  std::string unread;
  Clock::time_point since; // of the trial that it is at
};

class Pool {
public:
  Pool(size_t count, unsigned jobs, unsigned seconds,
       const std::function<Outcome(size_t)> &trial,
       const std::function<bool()> &goesOn,
       const std::function<void(size_t, const Outcome &)> &done)
      : count(count), seconds(seconds), trial(trial), goesOn(goesOn),
        done(done), workers(jobs) {
    for (size_t i = 0; i < jobs; ++i)
      workers[i].next = i;
  }

  void run() {
    for (Worker &worker : workers)
      start(worker);
    while (llvm::any_of(workers, [](Worker &w) { return w.process > 0; })) {
      std::vector<pollfd> waiting;
      for (Worker &worker : workers)
        waiting.push_back({worker.from, POLLIN, 0});
      ::poll(waiting.data(), waiting.size(), 500);
      for (auto [worker, events] : llvm::zip(workers, waiting))
        if (worker.process > 0)
          attend(worker, events.revents);
    }
  }

private:
  /// Ends this process when it has run for so long from now on.
  void limitTime() const {
    itimerval limit = {};
    limit.it_value.tv_sec = seconds;
    ::setitimer(ITIMER_PROF, &limit, nullptr);
  }

  void start(Worker &worker) {
    if (worker.next >= count || !goesOn())
      return;
    int ends[2];
    if (::pipe(ends) != 0)
      llvm::report_fatal_error("expected a pipe");
    llvm::outs().flush();
    llvm::errs().flush();
    worker.process = ::fork();
    if (worker.process < 0)
      llvm::report_fatal_error("expected a process");
    if (worker.process == 0) {
      ::close(ends[0]);
      size_t number = worker.next;
      for (size_t i = 0; i < kTrialsOfAProcess && number < count;
           ++i, number += workers.size()) {
        limitTime();
        writeAll(ends[1], lineOf(number, trial(number)));
      }
      _exit(0);
    }
    ::close(ends[1]);
    worker.from = ends[0];
    worker.unread.clear();
    worker.since = Clock::now();
  }

  void attend(Worker &worker, short events) {
    if (events) {
      char buffer[4096];
      ssize_t got = ::read(worker.from, buffer, sizeof buffer);
      if (got <= 0)
        return end(worker);
      worker.unread.append(buffer, got);
      for (size_t end; (end = worker.unread.find('\n')) != std::string::npos;) {
        take(worker, llvm::StringRef(worker.unread).take_front(end));
        worker.unread.erase(0, end + 1);
      }
      if (!goesOn())
        stop(worker);
    }
    // One that waits for ever takes no time of a processor.
    if (Clock::now() - worker.since > std::chrono::seconds(30 * seconds)) {
      stop(worker);
      finish(worker, tooLong());
      start(worker);
    }
  }

  void take(Worker &worker, llvm::StringRef line) {
    auto value = llvm::cantFail(json::parse(line));
    finish(worker, outcomeOf(*value.getAsObject()));
  }

  void finish(Worker &worker, const Outcome &outcome) {
    done(worker.next, outcome);
    worker.next += workers.size();
    worker.since = Clock::now();
  }

  void stop(Worker &worker) {
    if (worker.process <= 0)
      return;
    ::kill(worker.process, SIGKILL);
    wait(worker);
  }

  int wait(Worker &worker) {
    int status = 0;
    ::waitpid(worker.process, &status, 0);
    ::close(worker.from);
    worker.process = worker.from = -1;
    return status;
  }

  Outcome tooLong() const {
    Outcome outcome;
    outcome.kind = Outcome::TooLong;
    outcome.message = "more than " + std::to_string(seconds) + " seconds";
    return outcome;
  }

  /// The process wrote its last line, or ended in the midst of a trial.
  void end(Worker &worker) {
    int status = wait(worker);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      Outcome outcome;
      outcome.kind = Outcome::Crashed;
      outcome.message =
          WIFSIGNALED(status)
              ? std::string(strsignal(WTERMSIG(status)))
              : "exit code " + std::to_string(WEXITSTATUS(status));
      bool isLate = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
      finish(worker, isLate ? tooLong() : outcome);
    }
    start(worker);
  }

  const size_t count;
  const unsigned seconds;
  const std::function<Outcome(size_t)> &trial;
  const std::function<bool()> &goesOn;
  const std::function<void(size_t, const Outcome &)> &done;
  std::vector<Worker> workers;
};

} // namespace

void runMany(size_t count, unsigned jobs, unsigned seconds,
             const std::function<Outcome(size_t)> &trial,
             const std::function<bool()> &goesOn,
             const std::function<void(size_t, const Outcome &)> &done) {
  Pool(count, jobs, seconds, trial, goesOn, done).run();
}

Outcome runIsolated(const Program &program) {
  Outcome result;
  runMany(
      1, 1, kTrialSeconds, [&](size_t) { return runTrial(program); },
      [] { return true; },
      [&](size_t, const Outcome &outcome) { result = outcome; });
  return result;
}

} // namespace attentile::random
