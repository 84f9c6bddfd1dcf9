//===- ExampleBlocksTest.cpp - blocks of the examples as compiled ---------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every example goes through all passes and runs at small sizes; each
// iteration of its loops is noted. Beside it the reference evaluates what the
// example's softmaxes are of, for every query and key: -inf is hidden. So:
//
//   * no block with a visible element is left out, none is computed twice;
//   * no mask is evaluated in a block that hides nothing;
//   * the blocks computed are the needed ones, or at most 1.25 times as many
//     where loaded values or a 2-D neighbourhood decide.
//
//===----------------------------------------------------------------------===//

#include "TileTesting.h"
#include "attentile/Pipeline.h"
#include "attentile/Reference.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <set>

using namespace attentile;
using namespace attentile::test;

namespace {

using SizeMap = std::map<std::string, int64_t>;

struct Setting {
  const char *name;
  SizeMap sizes;
  PipelineOptions options;
};

PipelineOptions optionsFor(const std::string &target,
                           std::vector<std::string> tiles) {
  PipelineOptions options;
  options.forGpu = target != "cpu";
  options.target = target;
  options.tileSizes = std::move(tiles);
  return options;
}

/// Tiles that divide and tiles that do not; more keys than queries and fewer.
std::vector<Setting> settings() {
  auto sizes = [](int64_t M, int64_t N, int64_t S) {
    return SizeMap{{"B", 2}, {"H", 2}, {"G", 1}, {"M", M},
                   {"N", N}, {"S", S}, {"R", 16}};
  };
  return {
      {"cpu", sizes(128, 192, 192), optionsFor("cpu", {"m=32", "n=16"})},
      {"cpu, odd", sizes(75, 100, 109), optionsFor("cpu", {"m=16", "n=32"})},
      {"cpu, few keys", sizes(150, 70, 70),
       optionsFor("cpu", {"m=32", "n=32"})},
      {"sm_90", sizes(128, 192, 192), optionsFor("sm_90", {"m=32", "n=32"})},
      {"sm_80, odd", sizes(75, 150, 130),
       optionsFor("sm_80", {"m=16", "n=16"})},
  };
}

/// The kernel with an output for what each of its softmaxes is of; `count` is
/// how many those are. Nothing else is left to compute.
std::string withProbes(llvm::StringRef source, unsigned &count) {
  std::string declarations, statements;
  std::set<std::string> seen;
  llvm::StringRef shape =
      source.contains("S, D]") ? "B, H, S, S" : "B, H, M, N";
  for (llvm::StringRef name : {"softmax[n](", "logsumexp[n]("})
    for (size_t at = source.find(name); at != llvm::StringRef::npos;
         at = source.find(name, at + 1)) {
      size_t from = at + name.size(), to = from;
      for (int depth = 0; depth > 0 || (source[to] != ')' && source[to] != ',');
           ++to)
        depth += source[to] == '(' || source[to] == '['   ? 1
                 : source[to] == ')' || source[to] == ']' ? -1
                                                          : 0;
      std::string operand = source.slice(from, to).str();
      if (!seen.insert(operand).second)
        continue;
      std::string output = "SEEN" + std::to_string(seen.size() - 1);
      declarations += output + ": f32[" + shape.str() + "], ";
      statements += "  " + output + "[b, h, m, n] = " + operand + ";\n";
    }
  count = seen.size();
  std::string result = source.str();
  result.insert(result.find("\n}", result.find("\nkernel ")) + 1, statements);
  result.insert(result.find("-> (") + 4, declarations);
  return result;
}

/// What hides keys from queries.
class Visible {
public:
  Visible(int64_t B, int64_t H, int64_t M, int64_t N)
      : B(B), H(H), M(M), N(N) {}

  /// Elements that are -inf in all of `probes` are hidden.
  void hide(llvm::ArrayRef<ReferenceOutput> probes) {
    hidden.assign(B * H * M * N, !probes.empty());
    for (const ReferenceOutput &probe : probes)
      for (size_t i = 0; i < hidden.size(); ++i)
        hidden[i] = hidden[i] && probe.values[i] == -INFINITY;
  }

  struct Block {
    bool needed = false, hides = false; ///< some element visible, hidden
    bool isWhole = false;               ///< it does not reach beyond the range
  };
  /// Of the queries and keys from these on; `b` or `h` -1: of any.
  Block look(int64_t b, int64_t h, int64_t m, int64_t rows, int64_t n,
             int64_t keys) const {
    Block result;
    result.isWhole = m + rows <= M && n + keys <= N;
    for (int64_t i = b < 0 ? 0 : b; i < (b < 0 ? B : b + 1); ++i)
      for (int64_t j = h < 0 ? 0 : h; j < (h < 0 ? H : h + 1); ++j)
        for (int64_t row = m; row < std::min(m + rows, M); ++row)
          for (int64_t key = n; key < std::min(n + keys, N); ++key) {
            bool isHidden = hidden[((i * H + j) * M + row) * N + key];
            result.needed |= !isHidden;
            result.hides |= isHidden;
          }
    return result;
  }

  const int64_t B, H, M, N;

private:
  std::vector<bool> hidden;
};

/// What masks are made of: documents one behind the other, and the like.
void setMaskInputs(Values &values) {
  auto fill = [&](const char *name, auto value) {
    if (auto found = values.find(name); found != values.end())
      for (auto [i, element] : llvm::enumerate(found->second.data))
        element = value(int64_t(i));
  };
  fill("window", [](int64_t) { return 40; });
  fill("width", [](int64_t) { return 12; });
  fill("radius", [](int64_t) { return 2; });
  fill("length", [](int64_t b) { return b ? 57 : 0; });
  fill("doc", [&](int64_t i) { return i / 37 + i / 53; });
  fill("allowed", [](int64_t i) { return i % 3 != 1; });
  fill("rate", [](int64_t) { return 0.1; });
}

/// Of what the tile program reads, the reference's inputs.
std::vector<attentile::HostTensor> referenceInputs(attn::KernelOp kernel,
                                                   const Values &values) {
  std::vector<attentile::HostTensor> result;
  for (mlir::BlockArgument in : kernel.getInArgs()) {
    const test::HostTensor &from = values.at(kernel.nameOf(in).str());
    mlir::Type type = in.getType();
    if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type))
      type = tensor.getElementType();
    auto made =
        attentile::HostTensor::allocate(*elementTypeOf(type), from.shape);
    for (auto [i, element] : llvm::enumerate(from.data))
      made.writeDouble(i, element);
    result.push_back(std::move(made));
  }
  return result;
}

/// The key of a block: kernel, b, h, first query, first key.
using Place = std::tuple<std::string, int64_t, int64_t, int64_t, int64_t>;

struct Counts {
  size_t needed = 0, computed = 0, masked = 0;
};

/// Judges all visits of one kernel.
Counts judge(llvm::ArrayRef<BlockVisit> visits, const Visible &visible) {
  Counts counts;
  std::set<Place> places;
  std::map<std::string, const BlockVisit *> kernels;
  auto idOf = [](const BlockVisit &visit, const char *name) {
    auto found = visit.ids.find(name);
    return found == visit.ids.end() ? -1 : found->second;
  };
  auto tileOf = [](const BlockVisit &visit, const char *axis) {
    auto found = visit.tiles.find(axis);
    EXPECT_NE(found, visit.tiles.end()) << visit.kernel << " over " << axis;
    return found == visit.tiles.end() ? std::pair<int64_t, int64_t>()
                                      : found->second;
  };
  for (const BlockVisit &visit : visits) {
    auto [m, rows] = tileOf(visit, "m");
    auto [n, keys] = tileOf(visit, "n");
    int64_t b = idOf(visit, "b"), h = idOf(visit, "h");
    std::string where = visit.kernel + " b=" + std::to_string(b) +
                        " h=" + std::to_string(h) + " m=" + std::to_string(m) +
                        " n=" + std::to_string(n);
    EXPECT_TRUE(places.insert({visit.kernel, b, h, m, n}).second)
        << "twice: " << where;
    kernels[visit.kernel] = &visit;
    Visible::Block block = visible.look(b, h, m, rows, n, keys);
    // A block may be mixed for what it has beyond the range.
    if (visit.masked)
      EXPECT_TRUE(block.hides || !block.isWhole) << "needs no mask: " << where;
    else
      EXPECT_FALSE(block.hides) << "no mask seen: " << where;
    ++counts.computed;
    counts.masked += visit.masked;
  }
  for (const auto &[name, visit] : kernels) {
    auto [m0, rows] = tileOf(*visit, "m");
    auto [n0, keys] = tileOf(*visit, "n");
    bool hasB = idOf(*visit, "b") >= 0, hasH = idOf(*visit, "h") >= 0;
    for (int64_t b = hasB ? 0 : -1; b < (hasB ? visible.B : 0); ++b)
      for (int64_t h = hasH ? 0 : -1; h < (hasH ? visible.H : 0); ++h)
        for (int64_t m = 0; m < visible.M; m += rows)
          for (int64_t n = 0; n < visible.N; n += keys)
            if (visible.look(b, h, m, rows, n, keys).needed) {
              ++counts.needed;
              EXPECT_TRUE(places.count({name, b, h, m, n}))
                  << "left out: " << name << " b=" << b << " h=" << h
                  << " m=" << m << " n=" << n;
            }
  }
  return counts;
}

class ExampleBlocks : public testing::TestWithParam<std::string> {};

TEST_P(ExampleBlocks, areTheNeededOnes) {
  llvm::SmallString<256> path(ATTENTILE_EXAMPLES);
  llvm::sys::path::append(path, GetParam());
  auto file = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(file));
  llvm::StringRef source = (*file)->getBuffer();
  unsigned probes = 0;
  std::string probing = withProbes(source, probes);
  bool isExact = !source.contains("neighbourhood") &&
                 !source.contains("length") && !source.contains("doc[") &&
                 !source.contains("allowed[");
  for (const Setting &setting : settings()) {
    SCOPED_TRACE(setting.name);
    std::vector<std::string> bound = {"D=16", "T=f32"};
    for (auto [binding, sign] :
         {std::pair("E=16", "E]"), std::pair("R=16", "R]"),
          std::pair("C=i8", "type C ")})
      if (source.contains(sign))
        bound.push_back(binding);
    TileFile compiled = TileFile::fromSource(source, bound),
             asked = TileFile::fromSource(probing, bound);
    ASSERT_TRUE(compiled && asked);
    PipelineOptions options = setting.options;
    if (source.contains("for n in tiles(")) // which says its tiles' size
      options.tileSizes.pop_back();
    mlir::PassManager manager(compiled.getModule().getContext());
    buildTilePipeline(manager, options);
    ASSERT_TRUE(succeeded(manager.run(compiled.getModule())));
    Values values = compiled.draw(setting.sizes, 7);
    setMaskInputs(values);

    auto kernel = *asked.getModule().getOps<attn::KernelOp>().begin();
    std::vector<int64_t> sizes;
    for (mlir::BlockArgument size : kernel.getSizeArgs())
      sizes.push_back(setting.sizes.at(kernel.nameOf(size).str()));
    auto reference =
        attentile::evaluate(kernel, referenceInputs(kernel, values), sizes);
    ASSERT_TRUE(bool(reference)) << llvm::toString(reference.takeError());
    bool isSelf = source.contains("S, D]");
    Visible visible(setting.sizes.at("B"), setting.sizes.at("H"),
                    setting.sizes.at(isSelf ? "S" : "M"),
                    setting.sizes.at(isSelf ? "S" : "N"));
    visible.hide(llvm::ArrayRef(reference->outputs).take_front(probes));

    std::vector<BlockVisit> visits;
    ASSERT_TRUE(interpret(compiled.program(), values, nullptr, Rounding::None,
                          &visits));
    Counts counts = judge(visits, visible);
    EXPECT_GT(counts.computed, 0u);
    if (isExact)
      EXPECT_EQ(counts.computed, counts.needed);
    else
      EXPECT_LE(double(counts.computed), 1.25 * double(counts.needed));
    llvm::outs() << setting.name << ": " << counts.computed
                 << " blocks computed, " << counts.needed << " needed, "
                 << counts.masked << " with a mask\n";
    llvm::outs().flush();
  }
}

std::vector<std::string> examples() {
  std::vector<std::string> result;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator at(ATTENTILE_EXAMPLES, error), end;
       at != end && !error; at.increment(error))
    if (llvm::sys::path::extension(at->path()) == ".attn")
      result.push_back(llvm::sys::path::filename(at->path()).str());
  llvm::sort(result);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, ExampleBlocks, testing::ValuesIn(examples()),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = llvm::isAlnum(c) ? c : '_';
                           return name;
                         });

} // namespace
