//===- WarpInterpreter.cpp - runs warp IR thread by thread ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpInterpreter.h"
#include "WarpMachine.h"
#include "attentile/Reference.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace attentile::test {

bool Interpreter::runProgram(tile::ProgramOp program) {
  attn::SignatureOpInterface head = program;
  for (BlockArgument size : head.getSizeArgs()) {
    sizes.push_back(int64_t(values.at(head.nameOf(size).str()).data.at(0)));
    env[size] = Registers::scalar(double(sizes.back()));
  }
  for (BlockArgument in : head.getInArgs()) {
    HostTensor &given = values.at(head.nameOf(in).str());
    if (isa<RankedTensorType>(in.getType()))
      tensors[in] = &given;
    else
      env[in] = Registers::scalar(given.data.at(0));
  }
  for (BlockArgument out : head.getOutArgs()) {
    HostTensor &made = values[head.nameOf(out).str()];
    made = allocate(head.getShape(out));
    tensors[out] = &made;
  }
  return runBlock(head.getHeadBlock());
}

HostTensor Interpreter::allocate(AffineMap shape) {
  HostTensor result;
  int64_t count = 1;
  for (int64_t extent : evaluateShape(shape, sizes)) {
    result.shape.push_back(extent);
    count *= extent;
  }
  result.data.assign(count, std::numeric_limits<double>::quiet_NaN());
  return result;
}

bool Interpreter::runBlock(Block &block) {
  for (Operation &op : block)
    if (!run(&op))
      return false;
  return true;
}

bool Interpreter::run(Operation *op) {
  if (startsEarly && isa<warp::LoadOp, warp::StoreOp, warp::CopyAsyncOp>(op))
    return fail(op, "expected a wait for the kernel before this one");
  bool good =
      TypeSwitch<Operation *, bool>(op)
          .Case<warp::KernelOp, scf::ForOp, scf::IfOp, warp::AllocOp,
                warp::StageOp, warp::LoadSharedOp, warp::StoreSharedOp,
                warp::CopyAsyncOp, warp::LdmatrixOp, warp::MmaOp,
                warp::SplitTf32Op, warp::ShuffleXorOp, warp::ShuffleFromOp,
                warp::LoadOp, warp::StoreOp, vector::BroadcastOp,
                vector::ShuffleOp, vector::ExtractStridedSliceOp,
                vector::InsertStridedSliceOp, vector::FromElementsOp,
                vector::ToElementsOp, vector::ExtractOp,
                UnrealizedConversionCastOp>(
              [&](auto typed) { return runOp(typed); })
          .Case<attn::AssumeOp, attn::DefaultOp, scf::YieldOp>(
              [](auto) { return true; })
          .Case([&](attn::WorkspaceOp workspace) {
            owned.push_back(
                std::make_unique<HostTensor>(allocate(workspace.getShape())));
            tensors[workspace.getResult()] = owned.back().get();
            return true;
          })
          .Case<warp::ThreadIdOp, warp::LaneIdOp, warp::WarpIdOp>([&](auto id) {
            Registers result(1, threads);
            for (int t = 0; t < threads; ++t)
              result.at(t) = isa<warp::ThreadIdOp>(*id) ? t
                             : isa<warp::LaneIdOp>(*id) ? t % kLanes
                                                        : t / kLanes;
            return set(id.getResult(), std::move(result));
          })
          .Case<warp::VoteAllOp, warp::VoteAnyOp>([&](auto vote) {
            if (!warpsAreWhole(vote))
              return false;
            Registers result(1, threads);
            for (int t = 0; t < threads; ++t) {
              bool all = true, any = false;
              for (int lane = 0; lane < kLanes; ++lane) {
                bool p =
                    get(vote.getPredicate()).at(t / kLanes * kLanes + lane) !=
                    0;
                all &= p;
                any |= p;
              }
              result.at(t) = isa<warp::VoteAllOp>(*vote) ? all : any;
            }
            return set(vote.getResult(), std::move(result));
          })
          .Case([&](warp::BallotOp ballot) {
            if (!warpsAreWhole(ballot))
              return false;
            Registers result(1, threads);
            for (int t = 0; t < threads; ++t)
              for (int lane = 0; lane < kLanes; ++lane)
                if (get(ballot.getPredicate()).at(t / kLanes * kLanes + lane) !=
                    0)
                  result.at(t) += double(1u << lane);
            return set(ballot.getResult(), std::move(result));
          })
          .Case([&](ub::PoisonOp poison) {
            // Outside of kernels there are no threads yet.
            Registers result(widthOf(poison.getType()), 1);
            result.uniform = true;
            for (double &x : result.data)
              x = std::numeric_limits<double>::quiet_NaN();
            return set(poison.getResult(), std::move(result));
          })
          .Case([&](NVVM::GriddepcontrolOp control) {
            startsEarly = control.getKind() != NVVM::GridDepActionKind::wait;
            return true;
          })
          .Case([&](warp::CommitGroupOp) {
            forActive([&](int t) { memory->commitGroup(t); });
            return true;
          })
          .Case([&](warp::WaitGroupOp wait) {
            forActive([&](int t) { memory->waitGroup(t, wait.getPending()); });
            return true;
          })
          .Case([&](warp::BarrierOp barrier) {
            if (llvm::is_contained(active, false))
              return fail(barrier, "a barrier that not all threads reach");
            memory->barrier();
            return true;
          })
          .Case([&](warp::MbarriersOp made) {
            for (auto [mbarrier, arrivals] :
                 llvm::zip_equal(made.getResults(), made.getArrivals()))
              mbarriers[mbarrier] = memory->makeMbarrier(unsigned(arrivals));
            memory->barrier();
            return true;
          })
          .Case([&](warp::ArriveCopiesOp op) {
            unsigned mbarrier = mbarriers.lookup(op.getMbarrier());
            forActive([&](int t) { memory->arriveCopies(mbarrier, t); });
            return true;
          })
          .Case([&](warp::ArriveOp op) {
            unsigned mbarrier = mbarriers.lookup(op.getMbarrier());
            return forWarps(op, [&](int w) { memory->arrive(mbarrier, w); });
          })
          .Case([&](warp::WaitPhaseOp op) {
            unsigned mbarrier = mbarriers.lookup(op.getMbarrier());
            int64_t parity;
            return uniform(op, op.getParity(), parity) &&
                   forWarps(op, [&](int w) {
                     memory->waitPhase(mbarrier, unsigned(parity), w);
                   });
          })
          .Case([&](warp::SyncOp sync) {
            return forWarps(sync, [&](int w) { memory->sync(w); });
          })
          .Default([&](Operation *other) { return runElementwise(other); });
  if (good && memory && !memory->error().empty())
    return fail(op, memory->error());
  return good;
}

bool Interpreter::runOp(warp::KernelOp kernel) {
  SmallVector<int64_t> bounds;
  int64_t cells = 1;
  for (Value bound : kernel.getBounds()) {
    bounds.push_back(int64_t(get(bound).at(0)));
    cells *= bounds.back();
  }
  threads = kLanes * int(kernel.getWarps());
  active.assign(threads, true);
  stored.clear();
  for (int64_t cell = 0; cell < cells; ++cell) {
    int64_t rest = cell;
    for (size_t i = bounds.size(); i-- > 0; rest /= bounds[i])
      env[kernel.getBody().getArgument(i)] =
          Registers::scalar(double(rest % bounds[i]));
    // Without offsets, one buffer behind the other.
    size_t bytes = kernel.getSharedBytes().value_or(0);
    for (auto alloc : kernel.getBody().getOps<warp::AllocOp>()) {
      size_t address = alloc.getOffset().value_or(bytes);
      if (!alloc.getOffset())
        bytes += llvm::alignTo(bytesOf(alloc.getType()), 1024);
      buffers[alloc] = {address, alloc.getType()};
    }
    memory = std::make_unique<SharedMemory>(bytes, threads);
    startsEarly = false;
    if (!runBlock(kernel.getBody().front()))
      return false;
    if (startsEarly)
      return fail(kernel, "expected a kernel that waits for the one before it");
    memory->finish();
    if (!memory->error().empty())
      return fail(kernel, memory->error());
  }
  memory.reset();
  return true;
}

bool Interpreter::runOp(scf::ForOp loop) {
  SmallVector<Registers> carried;
  for (Value init : loop.getInitArgs())
    carried.push_back(get(init));
  int64_t begin, end, step;
  if (!uniform(loop, loop.getLowerBound(), begin) ||
      !uniform(loop, loop.getUpperBound(), end) ||
      !uniform(loop, loop.getStep(), step))
    return false;
  for (int64_t i = begin; i < end; i += step) {
    env[loop.getInductionVar()] = Registers::scalar(double(i));
    for (auto [arg, value] : llvm::zip(loop.getRegionIterArgs(), carried))
      env[arg] = value;
    if (!runBlock(*loop.getBody()))
      return false;
    for (auto [value, next] : llvm::zip(carried, loop.getYieldedValues()))
      value = get(next);
  }
  for (auto [result, value] : llvm::zip(loop.getResults(), carried))
    env[result] = std::move(value);
  return true;
}

bool Interpreter::runOp(scf::IfOp branch) {
  std::vector<char> outer = active;
  Registers condition = get(branch.getCondition());
  SmallVector<Registers> results;
  for (Type type : branch.getResultTypes())
    results.push_back(Registers(widthOf(type), threads));
  for (bool taken : {true, false}) {
    Block *block = taken ? branch.thenBlock() : branch.elseBlock();
    bool some = false;
    for (int t = 0; t < threads; ++t) {
      active[t] = outer[t] && (condition.at(t) != 0) == taken;
      some |= active[t];
    }
    if (!block || !some)
      continue;
    if (!runBlock(*block))
      return false;
    for (auto [result, value] :
         llvm::zip(results, block->getTerminator()->getOperands())) {
      Registers from = get(value);
      forActive([&](int t) {
        for (int e = 0; e < result.width; ++e)
          result.at(t, e) = from.at(t, e);
      });
    }
  }
  active = outer;
  for (auto [value, result] : llvm::zip(branch.getResults(), results)) {
    // A branch that all take the same way leaves what is uniform uniform.
    bool same = result.width == 1;
    for (double x : result.data)
      same &= x == result.data[0];
    env[value] = same ? Registers::scalar(result.data[0]) : std::move(result);
  }
  return true;
}

bool interpretWarps(tile::ProgramOp program,
                    std::map<std::string, HostTensor> &values) {
  return Interpreter(values).runProgram(program);
}

} // namespace attentile::test
