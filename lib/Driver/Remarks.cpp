//===- Remarks.cpp - what the passes decided, for the user ----------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

namespace attentile {
namespace {

thread_local bool areOff = false;

class RemarkPrinter : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkPrinter(llvm::raw_ostream &os) : os(os) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    if (areOff)
      return;
    os << placeOf(remark.getLocation());
    llvm::WithColor::remark(os) << remark.getCategoryName() << ": ";
    if (remark.getRemarkType() == llvm::remarks::Type::Missed)
      os << "not done: ";
    // Text first, then its reason, then the figures in brackets.
    std::string figures;
    StringRef separator;
    llvm::raw_string_ostream numbers(figures);
    for (const remark::detail::Remark::Arg &part : remark.getArgs()) {
      if (part.key == "Remark" || part.key == "Reason")
        os << std::exchange(separator, ": ") << part.val;
      else
        numbers << (figures.empty() ? "" : ", ") << part.key << ' ' << part.val;
    }
    if (!figures.empty())
      os << " (" << figures << ')';
    os << '\n';
  }

private:
  llvm::raw_ostream &os;
};

} // namespace

std::string placeOf(Location location) {
  FileLineColLoc found;
  location->walk([&](Location part) {
    found = dyn_cast<FileLineColLoc>(part);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found)
    return "";
  return llvm::formatv("{0}:{1}:{2}: ", found.getFilename().getValue(),
                       found.getLine(), found.getColumn());
}

RemarksOff::RemarksOff() : before(areOff) { areOff = true; }
RemarksOff::~RemarksOff() { areOff = before; }

void printRemarks(MLIRContext &context, llvm::raw_ostream &os) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = ".*";
  categories.analysis = categories.failed = ".*";
  // Fails where a command-line flag of MLIR's has set remarks up already; then
  // those are what the user asked for.
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkPrinter>(os),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

} // namespace attentile
