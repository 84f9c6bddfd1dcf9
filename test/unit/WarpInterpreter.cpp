//===- WarpInterpreter.cpp - runs warp IR thread by thread ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpInterpreter.h"
#include "ElementwiseInterpreter.h"
#include "SharedMemory.h"
#include "Warp/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace attentile::test {
namespace {

constexpr int kLanes = 32;

/// A value in all threads: `width` numbers each, or once if all have the same.
struct Registers {
  int width = 1;
  bool uniform = true;
  std::vector<double> data;

  Registers() = default;
  Registers(int width, int threads)
      : width(width), uniform(false), data(size_t(width) * threads) {}
  static Registers scalar(double value) {
    Registers result;
    result.data = {value};
    return result;
  }
  double &at(int thread, int element = 0) {
    return data[(uniform ? 0 : size_t(thread) * width) + element];
  }
};

struct Buffer {
  size_t address;
  warp::BufferType type;
};

int widthOf(Type type) { return int(warp::getNumRegisters(type)); }

/// Rounded to nearest with 10 bits after the point; or cut there.
double toTf32(double value, bool round) {
  float single = float(value);
  if (!std::isfinite(single))
    return single;
  uint32_t bits;
  std::memcpy(&bits, &single, 4);
  if (round)
    bits += 0xFFF + ((bits >> 13) & 1);
  bits &= ~uint32_t(0x1FFF);
  std::memcpy(&single, &bits, 4);
  return single;
}

class Interpreter {
public:
  explicit Interpreter(std::map<std::string, HostTensor> &values)
      : values(values) {}

  bool runProgram(tile::ProgramOp program) {
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

private:
  HostTensor allocate(AffineMap shape) {
    HostTensor result;
    int64_t count = 1;
    for (AffineExpr extent : shape.getResults()) {
      result.shape.push_back(evaluate(extent));
      count *= result.shape.back();
    }
    result.data.assign(count, std::numeric_limits<double>::quiet_NaN());
    return result;
  }

  int64_t evaluate(AffineExpr expr) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return constant.getValue();
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return sizes[symbol.getPosition()];
    auto binary = cast<AffineBinaryOpExpr>(expr);
    int64_t lhs = evaluate(binary.getLHS()), rhs = evaluate(binary.getRHS());
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return lhs + rhs;
    case AffineExprKind::Mul:
      return lhs * rhs;
    case AffineExprKind::FloorDiv:
      return rhs == 0 ? 0 : llvm::divideFloorSigned(lhs, rhs);
    case AffineExprKind::CeilDiv:
      return rhs == 0 ? 0 : llvm::divideCeilSigned(lhs, rhs);
    default:
      return rhs == 0 ? 0 : llvm::mod(lhs, rhs);
    }
  }

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  bool runBlock(Block &block) {
    for (Operation &op : block)
      if (!run(&op))
        return false;
    return true;
  }

  bool run(Operation *op) {
    bool good =
        TypeSwitch<Operation *, bool>(op)
            .Case<warp::KernelOp, scf::ForOp, scf::IfOp, warp::AllocOp,
                  warp::StageOp, warp::LoadSharedOp, warp::StoreSharedOp,
                  warp::CopyAsyncOp, warp::LdmatrixOp, warp::MmaOp,
                  warp::SplitTf32Op, warp::ShuffleXorOp, warp::LoadOp,
                  warp::StoreOp, vector::BroadcastOp, vector::ShuffleOp,
                  vector::ExtractStridedSliceOp, vector::InsertStridedSliceOp,
                  vector::FromElementsOp, vector::ToElementsOp>(
                [&](auto typed) { return runOp(typed); })
            .Case<attn::AssumeOp, attn::DefaultOp, scf::YieldOp>(
                [](auto) { return true; })
            .Case([&](attn::WorkspaceOp workspace) {
              owned.push_back(
                  std::make_unique<HostTensor>(allocate(workspace.getShape())));
              tensors[workspace.getResult()] = owned.back().get();
              return true;
            })
            .Case<warp::ThreadIdOp, warp::LaneIdOp, warp::WarpIdOp>(
                [&](auto id) {
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
            .Case([&](ub::PoisonOp poison) {
              Registers result(widthOf(poison.getType()), threads);
              for (double &x : result.data)
                x = std::numeric_limits<double>::quiet_NaN();
              return set(poison.getResult(), std::move(result));
            })
            .Case([&](warp::CommitGroupOp) {
              forActive([&](int t) { memory->commitGroup(t); });
              return true;
            })
            .Case([&](warp::WaitGroupOp wait) {
              forActive(
                  [&](int t) { memory->waitGroup(t, wait.getPending()); });
              return true;
            })
            .Case([&](warp::BarrierOp barrier) {
              if (llvm::is_contained(active, false))
                return fail(barrier, "a barrier that not all threads reach");
              memory->barrier();
              return true;
            })
            .Default([&](Operation *other) { return runElementwise(other); });
    if (good && memory && !memory->error().empty())
      return fail(op, memory->error());
    return good;
  }

  bool runOp(warp::KernelOp kernel) {
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
      if (!runBlock(kernel.getBody().front()))
        return false;
      memory->finish();
      if (!memory->error().empty())
        return fail(kernel, memory->error());
    }
    memory.reset();
    return true;
  }

  bool runOp(scf::ForOp loop) {
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

  /// Threads that do not take a branch are inactive in it.
  bool runOp(scf::IfOp branch) {
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

  //===--------------------------------------------------------------------===//
  // Registers
  //===--------------------------------------------------------------------===//

  bool runElementwise(Operation *op) {
    ElementFunction function = elementFunction(op);
    if (op->getNumResults() != 1 || !function)
      return fail(op, "expected an operation that the interpreter knows, got " +
                          op->getName().getStringRef().str());
    SmallVector<Registers *> operands;
    bool isUniform = true;
    for (Value operand : op->getOperands()) {
      operands.push_back(&get(operand));
      isUniform &= operands.back()->uniform;
    }
    int width = widthOf(op->getResult(0).getType());
    Registers result(width, isUniform ? 1 : threads);
    result.uniform = isUniform;
    SmallVector<double> arguments(operands.size());
    for (int t = 0; t < (isUniform ? 1 : threads); ++t)
      for (int e = 0; e < width; ++e) {
        for (auto [argument, operand] : llvm::zip(arguments, operands))
          argument = operand->at(t, operand->width == 1 ? 0 : e);
        result.at(t, e) = function(arguments, e);
      }
    return set(op->getResult(0), std::move(result));
  }

  /// The result's element e is element from[e] of the operand.
  bool permute(Value result, Value operand, ArrayRef<int64_t> from) {
    Registers &source = get(operand);
    Registers made(int(from.size()), source.uniform ? 1 : threads);
    made.uniform = source.uniform;
    for (int t = 0; t < (source.uniform ? 1 : threads); ++t)
      for (auto [e, position] : llvm::enumerate(from))
        made.at(t, int(e)) = source.at(t, int(position));
    return set(result, std::move(made));
  }

  bool runOp(vector::BroadcastOp op) {
    return permute(op.getResult(), op.getSource(),
                   SmallVector<int64_t>(widthOf(op.getType()), 0));
  }
  bool runOp(vector::ShuffleOp op) {
    int64_t width = widthOf(op.getV1().getType());
    for (int64_t &from : shuffled = SmallVector<int64_t>(op.getMask()))
      if (op.getV1() == op.getV2())
        from %= width;
      else if (from >= width)
        return fail(op, "expected one vector shuffled");
    return permute(op.getResult(), op.getV1(), shuffled);
  }
  bool runOp(vector::ExtractStridedSliceOp op) {
    int64_t first = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
    return permute(
        op.getResult(), op.getSource(),
        llvm::to_vector(llvm::seq(first, first + widthOf(op.getType()))));
  }
  bool runOp(vector::InsertStridedSliceOp op) {
    int64_t first = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
    Registers &part = get(op.getValueToStore());
    Registers &whole = get(op.getDest());
    Registers made(whole.width, threads);
    for (int t = 0; t < threads; ++t)
      for (int e = 0; e < whole.width; ++e)
        made.at(t, e) = e >= first && e < first + part.width
                            ? part.at(t, int(e - first))
                            : whole.at(t, e);
    return set(op.getResult(), std::move(made));
  }
  bool runOp(vector::FromElementsOp op) {
    Registers made(widthOf(op.getType()), threads);
    for (auto [e, element] : llvm::enumerate(op.getElements())) {
      Registers &from = get(element);
      for (int t = 0; t < threads; ++t)
        made.at(t, int(e)) = from.at(t);
    }
    return set(op.getResult(), std::move(made));
  }
  bool runOp(vector::ToElementsOp op) {
    for (auto [e, element] : llvm::enumerate(op.getElements()))
      permute(element, op.getSource(), {int64_t(e)});
    return true;
  }

  bool runOp(warp::ShuffleXorOp op) {
    if (!warpsAreWhole(op))
      return false;
    Registers &from = get(op.getOperand());
    Registers made(from.width, threads);
    for (int t = 0; t < threads; ++t)
      for (int e = 0; e < from.width; ++e)
        made.at(t, e) = from.at(t ^ int(op.getMask()), e);
    return set(op.getResult(), std::move(made));
  }

  bool runOp(warp::SplitTf32Op op) {
    Registers &from = get(op.getOperand());
    Registers high(from.width, threads), low(from.width, threads);
    for (int t = 0; t < threads; ++t)
      for (int e = 0; e < from.width; ++e) {
        high.at(t, e) = toTf32(from.at(t, e), /*round=*/true);
        low.at(t, e) = toTf32(from.at(t, e) - high.at(t, e), /*round=*/true);
      }
    set(op.getHigh(), std::move(high));
    return set(op.getLow(), std::move(low));
  }

  bool runOp(warp::MmaOp op) {
    if (!warpsAreWhole(op))
      return false;
    Registers &a = get(op.getA()), &b = get(op.getB()), &c = get(op.getC());
    bool wide = a.width == 8; // 16 bits
    int depth = wide ? 16 : 8;
    auto enters = [&](double x) { return wide ? x : toTf32(x, false); };
    Registers made(4, threads);
    for (int first = 0; first < threads; first += kLanes) {
      double left[16][16], right[16][8];
      for (int lane = 0; lane < kLanes; ++lane) {
        int g = lane / 4, t = lane % 4, thread = first + lane;
        for (int e = 0; e < a.width; ++e) {
          int row = wide ? g + 8 * (e / 2 % 2) : g + 8 * (e % 2);
          int k = wide ? 2 * t + e % 2 + 8 * (e / 4) : t + 4 * (e / 2);
          left[row][k] = enters(a.at(thread, e));
        }
        for (int e = 0; e < b.width; ++e)
          right[wide ? 2 * t + e % 2 + 8 * (e / 2) : t + 4 * e][g] =
              enters(b.at(thread, e));
      }
      for (int lane = 0; lane < kLanes; ++lane)
        for (int e = 0; e < 4; ++e) {
          int row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
          double total = c.at(first + lane, e);
          for (int k = 0; k < depth; ++k)
            total += left[row][k] * right[k][column];
          made.at(first + lane, e) = total;
        }
    }
    return set(op.getResult(), std::move(made));
  }

  //===--------------------------------------------------------------------===//
  // Shared memory
  //===--------------------------------------------------------------------===//

  static size_t bytesOf(warp::BufferType type) {
    return std::max<int64_t>(1, type.getStages()) * stageBytes(type);
  }
  static size_t stageBytes(warp::BufferType type) {
    auto layout = cast<tile::SharedAttr>(type.getLayout()).getLayout();
    int64_t rows = type.getRank() == 1 ? 1 : type.getShape()[0];
    return rows * layout.pitch * warp::getElementBytes(type.getElementType());
  }
  /// The byte of an element; out of bounds is an error.
  size_t addressOf(Operation *op, const Buffer &buffer, int64_t row,
                   int64_t column) {
    ArrayRef<int64_t> shape = buffer.type.getShape();
    if (column < 0 || column >= shape.back() || row < 0 ||
        (shape.size() == 1 ? row != 0 : row >= shape[0]))
      fail(op, "an index outside its buffer");
    auto layout = cast<tile::SharedAttr>(buffer.type.getLayout()).getLayout();
    return buffer.address +
           layout.offsetOf(row, column) *
               warp::getElementBytes(buffer.type.getElementType());
  }

  bool runOp(warp::AllocOp) { return true; }

  bool runOp(warp::StageOp op) {
    int64_t index;
    if (!uniform(op, op.getIndex(), index))
      return false;
    Buffer buffer = buffers.at(op.getBuffer());
    if (index < 0 || index >= buffer.type.getStages())
      return fail(op, "a stage outside its buffer");
    buffers[op] = {buffer.address + index * stageBytes(buffer.type),
                   buffer.type.withoutStages()};
    return true;
  }

  template <typename Visit>
  bool forSharedElements(Operation *op, Value buffer, OperandRange indices,
                         int width, Visit visit) {
    const Buffer &to = buffers.at(buffer);
    forActive([&](int t) {
      for (int e = 0; e < width; ++e) {
        int64_t column = int64_t(get(indices.back()).at(t)) + e;
        int64_t row = indices.size() == 1 ? 0 : int64_t(get(indices[0]).at(t));
        visit(t, e, addressOf(op, to, row, column), to.type.getElementType());
      }
    });
    return !failed;
  }

  bool runOp(warp::LoadSharedOp op) {
    Registers made(widthOf(op.getType()), threads);
    bool good =
        forSharedElements(op, op.getBuffer(), op.getIndices(), made.width,
                          [&](int t, int e, size_t address, Type type) {
                            made.at(t, e) = memory->read(t, address, type);
                          });
    return good && set(op.getResult(), std::move(made));
  }

  bool runOp(warp::StoreSharedOp op) {
    Registers &value = get(op.getValue());
    return forSharedElements(
        op, op.getBuffer(), op.getIndices(), value.width,
        [&](int t, int e, size_t address, Type type) {
          if (!op.getPredicate() || get(op.getPredicate()).at(t) != 0)
            memory->write(t, address, type, value.at(t, e));
        });
  }

  bool runOp(warp::CopyAsyncOp op) {
    const Buffer &to = buffers.at(op.getBuffer());
    const HostTensor &from = *tensors.at(op.getTensor());
    if (llvm::is_contained(active, false))
      return fail(op, "a copy that not all threads take part in");
    SmallVector<int64_t> start;
    for (Value index : op.getIndices())
      if (!uniform(op, index, start.emplace_back()))
        return false;
    Type element = to.type.getElementType();
    int64_t chunk = 16 / warp::getElementBytes(element);
    int64_t columns = to.type.getShape().back();
    int64_t rows = to.type.getRank() == 1 ? 1 : to.type.getShape()[0];
    if (!op.getByElement() && start[op.getDims().back()] % chunk != 0)
      return fail(op, "a copy that does not start at 16 bytes");
    for (int64_t i = 0; i < rows * columns; ++i) {
      int64_t row = i / columns, column = i % columns;
      SmallVector<int64_t> at(start);
      at[op.getDims().back()] += column;
      if (to.type.getRank() == 2)
        at[op.getDims()[0]] += row;
      int64_t position = positionOf(op, from, at, op.getInBounds());
      double value = position < 0 ? 0 : from.data[position];
      int thread = int(
          (row * llvm::divideCeil(columns, chunk) + column / chunk) % threads);
      size_t address = addressOf(op, to, row, column);
      if (op.getByElement())
        memory->write(thread, address, element, value);
      else
        memory->copyAsync(thread, address, element, value);
    }
    return !failed;
  }

  /// Of each matrix of 8 rows of 16 bytes a lane gets 4 bytes; lane l reads row
  /// l % 8 of matrix l / 8, which is whose access it is.
  bool runOp(warp::LdmatrixOp op) {
    if (!warpsAreWhole(op))
      return false;
    const Buffer &from = buffers.at(op.getBuffer());
    Type element = from.type.getElementType();
    int each = element.isF32() ? 1 : 2, width = 4 * each;
    Registers made(widthOf(op.getType()), threads);
    for (int first = 0; first < threads; first += kLanes) {
      if (!active[first])
        continue;
      int64_t row = int64_t(get(op.getRow()).at(first));
      int64_t column = int64_t(get(op.getCol()).at(first));
      for (int lane = 0; lane < kLanes; ++lane)
        if (get(op.getRow()).at(first + lane) != row ||
            get(op.getCol()).at(first + lane) != column)
          return fail(op, "expected indices that are uniform in the warp");
      for (int matrix = 0; matrix < int(op.getNum()); ++matrix) {
        bool byRows = op.getOrder() == warp::MatrixOrder::Rows;
        int below = byRows ? matrix % 2 : matrix / 2;
        int beside = byRows ? matrix / 2 : matrix % 2;
        double values[8][8];
        for (int r = 0; r < 8; ++r)
          for (int c = 0; c < width; ++c)
            values[r][c] = memory->read(first + 8 * matrix + r,
                                        addressOf(op, from, row + 8 * below + r,
                                                  column + width * beside + c),
                                        element);
        for (int lane = 0; lane < kLanes; ++lane)
          for (int e = 0; e < each; ++e) {
            int r = lane / 4, c = each * (lane % 4) + e;
            made.at(first + lane, matrix * each + e) =
                op.getTranspose() ? values[c][r] : values[r][c];
          }
      }
    }
    return !failed && set(op.getResult(), std::move(made));
  }

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  /// Where an element is; -1 for one outside, which must not be declared
  /// inside.
  int64_t positionOf(Operation *op, const HostTensor &tensor,
                     ArrayRef<int64_t> index,
                     std::optional<ArrayRef<bool>> inside) {
    int64_t position = 0;
    bool outside = false;
    for (auto [dim, at] : llvm::enumerate(index)) {
      bool isOut = at < 0 || at >= tensor.shape[dim];
      if (isOut && inside && (*inside)[dim])
        fail(op, "an index outside that is declared in bounds");
      outside |= isOut;
      position = position * tensor.shape[dim] + at;
    }
    return outside ? -1 : position;
  }

  template <typename Op, typename Visit>
  bool forElements(Op op, Type value, Visit visit) {
    const HostTensor &tensor = *tensors.at(op.getTensor());
    int64_t dim = op.getDim().value_or(tensor.shape.size() - 1);
    forActive([&](int t) {
      SmallVector<int64_t> at;
      for (Value index : op.getIndices())
        at.push_back(int64_t(get(index).at(t)));
      int width = widthOf(value);
      if (width > 1 && !op.getByElement() && at[dim] % width != 0)
        fail(op, "a packet that does not start at a multiple of its width");
      for (int e = 0; e < width; ++e) {
        visit(t, e, positionOf(op, tensor, at, op.getInBounds()));
        if (!at.empty())
          ++at[dim];
      }
    });
    return !failed;
  }

  bool runOp(warp::LoadOp op) {
    const HostTensor &tensor = *tensors.at(op.getTensor());
    Registers made(widthOf(op.getType()), threads);
    bool good = forElements(op, op.getType(), [&](int t, int e, int64_t at) {
      made.at(t, e) = at < 0 ? 0 : tensor.data[at];
    });
    // Scalar loads of uniform indices stay uniform: bounds may come from them.
    if (made.width == 1 && llvm::all_of(op.getIndices(), [&](Value index) {
          return get(index).uniform;
        }))
      made = Registers::scalar(made.at(0));
    return good && set(op.getResult(), std::move(made));
  }

  bool runOp(warp::StoreOp op) {
    HostTensor &tensor = *tensors.at(op.getTensor());
    Registers &value = get(op.getValue());
    return forElements(
        op, op.getValue().getType(), [&](int t, int e, int64_t at) {
          if (at < 0 ||
              (op.getPredicate() && get(op.getPredicate()).at(t) == 0))
            return;
          if (!stored.insert({&tensor, at}).second)
            fail(op, "an element that is stored twice");
          tensor.data[at] = value.at(t, e);
        });
  }

  //===--------------------------------------------------------------------===//
  // Helpers
  //===--------------------------------------------------------------------===//

  Registers &get(Value value) {
    auto found = env.find(value);
    if (found == env.end())
      llvm::report_fatal_error("expected a value that has been computed");
    return found->second;
  }

  bool set(Value value, Registers registers) {
    if (auto type = dyn_cast<FloatType>(warp::getElementType(value.getType())))
      for (double &x : registers.data)
        x = roundTo(type, x);
    env[value] = std::move(registers);
    return true;
  }

  template <typename Visit> void forActive(Visit visit) {
    for (int t = 0; t < threads; ++t)
      if (active[t])
        visit(t);
  }

  bool uniform(Operation *op, Value value, int64_t &result) {
    Registers &registers = get(value);
    bool first = true;
    forActive([&](int t) {
      int64_t own = int64_t(registers.at(t));
      if (!first && own != result)
        fail(op, "expected a value that is the same in all threads");
      result = own;
      first = false;
    });
    return !failed;
  }

  bool warpsAreWhole(Operation *op) {
    for (int t = 0; t < threads; ++t)
      if (active[t] != active[t / kLanes * kLanes])
        return fail(op, "an instruction of the warp in a branch that parts it");
    return true;
  }

  bool fail(Operation *op, const std::string &what) {
    if (!failed)
      op->emitError(what);
    failed = true;
    return false;
  }

  std::map<std::string, HostTensor> &values;
  SmallVector<int64_t> sizes;
  SmallVector<int64_t> shuffled;
  DenseMap<Value, Registers> env;
  DenseMap<Value, HostTensor *> tensors;
  DenseMap<Value, Buffer> buffers;
  std::vector<std::unique_ptr<HostTensor>> owned;
  std::set<std::pair<HostTensor *, int64_t>> stored;
  std::unique_ptr<SharedMemory> memory;
  int threads = 1;
  std::vector<char> active = {true};
  bool failed = false;
};

} // namespace

bool interpretWarps(tile::ProgramOp program,
                    std::map<std::string, HostTensor> &values) {
  return Interpreter(values).runProgram(program);
}

} // namespace attentile::test
