//===- KernelLowering.h - one kernel on its way to NVVM ---------*- C++ -*-===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lowerings of the op families share. Each lowering takes one warp
// operation and replaces it by nvvm, llvm and arith operations; values keep
// their builtin types, `index` stands for 64 bits.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_LIB_NVVM_KERNELLOWERING_H
#define ATTENTILE_LIB_NVVM_KERNELLOWERING_H

#include "Registers.h"
#include "attentile/NVVM/Signature.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <map>

namespace attentile::nvvm {

/// The dynamic shared memory of every kernel of a module.
inline constexpr llvm::StringLiteral kSharedSymbol = "attentile_shared";

/// A tensor or workspace as the kernel sees it. Sizes and strides (in elements)
/// are of type index.
struct TensorAccess {
  mlir::Value pointer; ///< !llvm.ptr<1>
  llvm::SmallVector<mlir::Value> sizes, strides;
  mlir::RankedTensorType type;
  bool isPadded = false; ///< whole packets of a row's end may be accessed
};

/// Builds arithmetic at one place.
class Emitter {
public:
  Emitter(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value i32(int64_t value) const {
    return mlir::arith::ConstantIntOp::create(b, loc, value, 32);
  }
  mlir::Value index(int64_t value) const {
    return mlir::arith::ConstantIndexOp::create(b, loc, value);
  }
  mlir::Value truth(bool value) const {
    return mlir::arith::ConstantIntOp::create(b, loc, value, 1);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) const {
    return binary<mlir::arith::AddIOp>(x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) const {
    return binary<mlir::arith::SubIOp>(x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) const {
    return binary<mlir::arith::MulIOp>(x, y);
  }
  /// Division and remainder without a sign.
  mlir::Value div(mlir::Value x, mlir::Value y) const {
    return binary<mlir::arith::DivUIOp>(x, y);
  }
  mlir::Value rem(mlir::Value x, mlir::Value y) const {
    return binary<mlir::arith::RemUIOp>(x, y);
  }
  mlir::Value bitAnd(mlir::Value x, mlir::Value y) const {
    return binary<mlir::arith::AndIOp>(x, y);
  }
  mlir::Value bitXor(mlir::Value x, mlir::Value y) const {
    return binary<mlir::arith::XOrIOp>(x, y);
  }
  mlir::Value less(mlir::Value x, mlir::Value y) const { // without a sign
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::ult,
                                       x, y);
  }
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) const {
    return mlir::arith::SelectOp::create(b, loc, c, x, y);
  }
  /// `value`, of index type, in 32 bits. The i32 it was cast from if there is
  /// one; what does not fit loses its high bits.
  mlir::Value to32(mlir::Value value) const;
  mlir::Value toIndex(mlir::Value i32) const {
    return mlir::arith::IndexCastUIOp::create(b, loc, b.getIndexType(), i32);
  }
  /// The address `offset` elements of type `element` behind `pointer`.
  mlir::Value at(mlir::Value pointer, mlir::Value offset,
                 mlir::Type element) const;
  /// Inline PTX without side effects; `results` may be several.
  llvm::SmallVector<mlir::Value> ptx(llvm::StringRef text,
                                     llvm::StringRef constraints,
                                     mlir::TypeRange results,
                                     mlir::ValueRange operands,
                                     bool sideEffects = false) const;

private:
  template <typename Op>
  mlir::Value binary(mlir::Value x, mlir::Value y) const {
    return Op::create(b, loc, x, y);
  }
};

/// What tells addresses of shared memory apart, but for a constant: a buffer
/// and two indices, or a buffer and the form of an ldmatrix.
using AddressKey = std::array<const void *, 3>;

/// The state of one kernel's lowering.
struct KernelLowering {
  explicit KernelLowering(warp::KernelOp kernel)
      : kernel(kernel), isDependent(attentile::isDependent(kernel)) {}

  warp::KernelOp kernel;
  /// May start while the kernel before still writes what this one reads, so
  /// that nothing is constant for as long as it runs.
  bool isDependent;
  llvm::DenseMap<mlir::Value, TensorAccess> tensors;
  /// The first byte of a buffer (or stage) or an mbarrier, an i32 in the shared
  /// window.
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  /// Of ldmatrix: what a lane adds to an address, by the buffer's layout and
  /// the form of the load.
  std::map<std::array<int64_t, 5>, mlir::Value> laneBytes;
  /// The thread's number, read anew before a loop for what its copies compute
  /// from it: or a later loop's parts would be kept through an earlier one.
  llvm::DenseMap<mlir::Operation *, mlir::Value> loopThreads;
  /// What the loads of a block from a buffer share of their addresses.
  std::map<std::pair<mlir::Block *, AddressKey>, mlir::Value> loopAddresses;
  mlir::Value threadId; ///< i32
  mlir::Value laneId;   ///< i32
  mlir::Value warpId;   ///< i32, the same register in all lanes

  int64_t threads() { return 32 * kernel.getWarps(); }
};

/// Makes the kernel's function and moves the body there: parameters, block and
/// thread numbers, values of the program that the body uses.
mlir::LLVM::LLVMFuncOp createKernelFunction(KernelLowering &lowering,
                                            mlir::OpBuilder &builder);

// One file a family. Each replaces or erases the operation.
void lowerIds(KernelLowering &lowering, mlir::Operation *op);
void lowerSharedMemory(KernelLowering &lowering, mlir::Operation *op);
void lowerCopies(KernelLowering &lowering, mlir::Operation *op);
/// Asks LLVM and ptxas to leave a loop as it is: it is slow, not hot, or what
/// its iterations load must not be held at once; and ptxas takes its time with
/// every copy of its body.
void keepRolled(mlir::scf::ForOp loop);
void lowerMbarriers(KernelLowering &lowering, mlir::Operation *op);
void lowerMatrices(KernelLowering &lowering, mlir::Operation *op);
void lowerExchange(KernelLowering &lowering, mlir::Operation *op);
void lowerGlobalMemory(KernelLowering &lowering, mlir::Operation *op);

/// The byte `offset` of the kernel's shared memory, i32.
mlir::Value sharedByte(const Emitter &e, int64_t offset);

/// The byte of the shared window where a buffer's element lies, i32; its
/// indices, i32, are any thread's own.
mlir::Value sharedAddress(const Emitter &e, mlir::Value base,
                          warp::BufferType type, mlir::ValueRange indices);

/// A value that LLVM knows nothing of from here on. What is computed from it is
/// computed where it is used; else it would be computed once, before loops, and
/// keep a register throughout.
mlir::Value hide(const Emitter &e, mlir::Value value);

/// `address` computed anew where the loop that `op` is in goes round, once for
/// each key and block: LLVM would move each of its dozens of sums with a
/// constant out of the loop, and keep a register for each.
mlir::Value keepInLoop(KernelLowering &k, const Emitter &e, mlir::Operation *op,
                       const AddressKey &key, mlir::Value address);

/// Whether `index` is inside dimension `dim`, or null if that is known.
mlir::Value insideDim(const Emitter &e, const TensorAccess &tensor,
                      unsigned dim, mlir::Value index,
                      std::optional<llvm::ArrayRef<bool>> known);

/// Both conditions; either may be null, for one that holds.
mlir::Value both(const Emitter &e, mlir::Value x, mlir::Value y);

/// Where an element of a tensor lies: !llvm.ptr<1>.
mlir::Value globalAddress(const Emitter &e, const TensorAccess &tensor,
                          mlir::ValueRange indices);

/// The type that one element has in memory.
mlir::Type memoryType(mlir::Type element);

/// The words at a global address, 0 where `predicate` (may be null) is false;
/// the load does not branch.
llvm::SmallVector<mlir::Value> loadWords(const KernelLowering &k,
                                         const Emitter &e, mlir::Value pointer,
                                         llvm::ArrayRef<mlir::Type> words,
                                         mlir::Value predicate);

/// Writes words to a global (or shared) address where `predicate`, which may be
/// null, is true.
void storeWords(const Emitter &e, mlir::Value pointer, mlir::ValueRange words,
                mlir::Value predicate);

} // namespace attentile::nvvm

#endif
