//===- Header.cpp - the C header of an object file ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The object file holds functions of the array of argument slots alone
// (ArgSlots.h). The header gives them types: it packs the slots, checks what
// must agree, and calls. All of it is C99 and C++.
//
//===----------------------------------------------------------------------===//

#include "HeaderNames.h"
#include "Symbols.h"
#include "attentile/Native.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using attentile::native::HeaderNames;

namespace attentile {
namespace {

class HeaderWriter : HeaderNames {
public:
  HeaderWriter(const ProgramInfo &info, const NativeTarget &target)
      : HeaderNames(info), target(target), out(text) {}

  std::string write() {
    writeTop();
    writeTypes();
    writeFunctionsOfObject();
    writeSizeFunctions();
    writePrepare();
    writeRun();
    writeMessages();
    out << "\n#ifdef __cplusplus\n} // extern \"C\"\n#endif\n\n#endif\n";
    return text;
  }

private:
  void writeTop() {
    std::string guard = "ATTENTILE_" + StringRef(name).upper() + "_H";
    out << "/* " << info.name << ", compiled by attentile for " << target.cpu
        << ".\n *\n";
    out << " * A tensor is a pointer to its element 0, 0, ..., its sizes, and "
           "its strides\n"
           " * in elements (0 or negative ones are fine for inputs). bf16 and "
           "f16 are their\n"
           " * 16 bits, a bool is a byte of 0 or 1.\n *\n";
    out << " *   int code = " << name << "(" << uses()
        << ", workspace, scratch);\n"
        << " *\n * runs everything on the calling thread; a code other than 0 "
           "says that nothing\n * ran, and "
        << name << "_message(code) why. workspace has " << name
        << "_workspace_bytes\n * bytes, scratch " << name
        << "_scratch_bytes; either may be null if that is 0.\n *\n"
        << " * With threads of your own: " << name << "_prepare fills args["
        << macro("ARGS") << "] once; then for\n"
        << " * each kernel k below " << macro("KERNELS") << ", one after "
        << "another, split the cells 0 to\n * " << name
        << "_cells(args, k) - 1 among threads and call " << name
        << "_range, each\n * thread with scratch of its own.\n */\n";
    out << "#ifndef " << guard << "\n#define " << guard
        << "\n\n#include <stdint.h>\n#include <string.h>\n\n"
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    out << "#define " << macro("ARGS") << " " << info.slotCount << "\n#define "
        << macro("KERNELS") << " " << info.kernels.size() << "\n";
  }

  void writeTypes() {
    StringSet<> seen;
    for (const ParameterInfo &p : info.parameters)
      if (p.isTensor && seen.insert(structOf(p)).second)
        out << "\ntypedef struct {\n  " << (p.isOutput ? "" : "const ")
            << cType(p.type) << " *data;\n  int64_t sizes[" << p.shape.size()
            << "];\n  int64_t strides[" << p.shape.size() << "];\n} "
            << structOf(p) << ";\n";
  }

  void writeFunctionsOfObject() {
    out << "\n/* What the object file holds; the functions below call it. */\n";
    auto declare = [&](const char *type, const std::string &function) {
      out << type << " " << native::symbolOf(function)
          << "(const int64_t *args);\n";
    };
    declare("int64_t", info.name + "_check");
    for (const ParameterInfo &p : info.parameters)
      if (p.hasDefault)
        declare(isFloat(p.type) ? "float" : "int64_t",
                info.name + "_default_" + p.name);
    for (size_t k = 0; k < info.workspaces.size(); ++k)
      declare("int64_t", info.name + "_workspace_" + std::to_string(k));
    for (const KernelInfo &kernel : info.kernels) {
      declare("int64_t", kernel.name + "_cells");
      out << "void " << native::symbolOf(kernel.name)
          << "(const int64_t *args, int64_t begin, int64_t end, "
             "void *scratch);\n";
    }
    out << "\n/* Toward minus infinity; 0 for a divisor of 0. */\n"
        << "static inline int64_t " << name
        << "_floordiv_(int64_t a, int64_t b) {\n"
           "  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));"
           "\n}\nstatic inline int64_t "
        << name << "_floormod_(int64_t a, int64_t b) {\n  return b == 0 ? 0 : "
        << "a - " << name << "_floordiv_(a, b) * b;\n}\nstatic inline int64_t "
        << name << "_ceildiv_(int64_t a, int64_t b) {\n  return -" << name
        << "_floordiv_(-a, b);\n}\n";
  }

  /// Sizes into their slots of `args`.
  void writeSizeSlots() {
    for (auto [k, size] : enumerate(sizeNames))
      out << "  attentile_args[" << info.sizeSlot + k << "] = " << size
          << ";\n";
  }

  /// A scalar into its slot.
  void writeScalarSlot(const ParameterInfo &p) {
    std::string slot = "attentile_args[" + std::to_string(p.slot) + "]";
    if (p.type == ElementType::F32)
      out << "  memcpy(&" << slot << ", &" << identifier(p.name)
          << ", sizeof(float));\n";
    else
      out << "  " << slot << " = " << identifier(p.name)
          << (p.type == ElementType::Bool ? " != 0" : "") << ";\n";
  }

  /// What depends on sizes alone, or on sizes and earlier scalars.
  void writeSizeFunctions() {
    std::string sizes = sizeParameters();
    std::string zeroed = "  int64_t attentile_args[" + macro("ARGS") +
                         "];\n  memset(attentile_args, 0, "
                         "sizeof attentile_args);\n";
    std::string earlier = sizes;
    std::vector<const ParameterInfo *> scalars;
    for (const ParameterInfo &p : info.parameters) {
      if (p.isTensor)
        continue;
      if (p.hasDefault) {
        out << "\n/* The value of '" << p.name << "' that the source gives"
            << (isFloat(p.type) && p.type != ElementType::F32 ? ", as a float"
                                                              : "")
            << ". */\nstatic inline "
            << (isFloat(p.type) ? "float" : cType(p.type)) << " " << name
            << "_default_" << p.name << "("
            << (earlier.empty() ? "void" : earlier) << ") {\n"
            << zeroed;
        writeSizeSlots();
        for (const ParameterInfo *scalar : scalars)
          writeScalarSlot(*scalar);
        std::string call = native::symbolOf(info.name + "_default_" + p.name) +
                           "(attentile_args)";
        out << "  return "
            << (isFloat(p.type) ? "" : "(" + std::string(cType(p.type)) + ")")
            << call << ";\n}\n";
      }
      scalars.push_back(&p);
      earlier += (earlier.empty() ? "" : ", ") + std::string(cType(p.type)) +
                 " " + identifier(p.name);
    }

    out << "\n/* The bytes of memory that carries values from one kernel to "
           "the next. */\nstatic inline int64_t "
        << name << "_workspace_bytes(" << (sizes.empty() ? "void" : sizes)
        << ") {\n";
    if (info.workspaces.empty()) {
      for (const std::string &size : sizeNames)
        out << "  (void)" << size << ";\n";
      out << "  return 0;\n}\n";
    } else {
      out << zeroed;
      writeSizeSlots();
      out << "  return 63";
      for (size_t k = 0; k < info.workspaces.size(); ++k)
        out << "\n         + " << workspaceBytes(k);
      out << ";\n}\n";
    }
    int64_t scratch = info.scratchBytes();
    out << "\n/* The bytes of memory that each thread works in. */\n"
           "static inline int64_t "
        << name << "_scratch_bytes(void) { return "
        << (scratch ? scratch + 63 : 0) << "; }\n";
  }

  /// The bytes of the k-th workspace, to a multiple of 64.
  std::string workspaceBytes(size_t k) const {
    return "(" +
           native::symbolOf(info.name + "_workspace_" + std::to_string(k)) +
           "(attentile_args) * " +
           std::to_string(sizeOf(info.workspaces[k].type)) + " + 63) / 64 * 64";
  }

  /// "  if (condition) return CODE;", the message of which is kept.
  void fail(const std::string &condition, const std::string &message) {
    messages.push_back(message);
    out << "  if (" << condition << ")\n    return "
        << info.constraints.size() + messages.size() << ";\n";
  }

  /// Checks one tensor's numbers, and that its sizes are `known` or define.
  void writeTensorChecks(const ParameterInfo &p, std::vector<bool> &known) {
    std::string tensor = identifier(p.name), elements;
    for (auto [d, extent] : enumerate(p.shape)) {
      std::string dim = std::to_string(d);
      std::string size = tensor + ".sizes[" + dim + "]";
      std::string stride = tensor + ".strides[" + dim + "]";
      std::string where = "dimension " + dim + " of '" + p.name + "'";
      fail(size + " < 0 || " + size + " > 2147483647",
           "expected a size from 0 to 2147483647 in " + where);
      if (extent.kind == ExtentExpr::Size && !known[extent.value]) {
        known[extent.value] = true;
        out << "  attentile_args[" << info.sizeSlot + extent.value
            << "] = " << size << ";\n";
      } else {
        checks.push_back({size, &extent, where});
      }
      // 2^32 elements of 2^31 rows are far beyond any memory.
      fail(size + " > 1 && (" + stride + " > ((int64_t)1 << 60) / " + size +
               " || " + stride + " < -((int64_t)1 << 60) / " + size + ")",
           "expected a stride within 2^60 elements in " + where);
      if (p.isOutput)
        fail(size + " > 1 && " + stride + " == 0",
             "expected a stride other than 0 in " + where +
                 ", which is written");
      elements += (d ? " && " : "") + size + " > 0";
    }
    fail("!" + tensor + ".data" + (elements.empty() ? "" : " && " + elements),
         "expected a pointer to the elements of '" + p.name + "', got null");
  }

  void writePrepare() {
    out << "\n/* Checks the arguments and fills args; 0, or a code for " << name
        << "_message. */\nstatic inline int " << name
        << "_prepare(int64_t *attentile_args, " << parameters()
        << ", void *attentile_workspace) {\n"
        << "  memset(attentile_args, 0, " << macro("ARGS")
        << " * sizeof(int64_t));\n";
    std::vector<bool> known(info.sizes.size());
    for (const ParameterInfo &p : info.parameters)
      if (p.isTensor)
        writeTensorChecks(p, known);
    std::vector<std::string> slots;
    for (size_t k = 0; k < info.sizes.size(); ++k)
      slots.push_back("attentile_args[" + std::to_string(info.sizeSlot + k) +
                      "]");
    for (const auto &[size, extent, where] : checks)
      fail(size + " != " + expression(*extent, slots),
           "expected " + extent->print(info.sizes) + " in " + where);
    for (const ParameterInfo &p : info.parameters) {
      if (!p.isTensor) {
        writeScalarSlot(p);
        continue;
      }
      std::string tensor = identifier(p.name);
      std::string rank = std::to_string(p.shape.size());
      out << "  attentile_args[" << p.slot << "] = (int64_t)(intptr_t)"
          << tensor << ".data;\n";
      auto copy = [&](const char *field, unsigned slot) {
        out << "  memcpy(attentile_args + " << slot << ", " << tensor << "."
            << field << ", " << rank << " * sizeof(int64_t));\n";
      };
      copy("sizes", p.slot + 1);
      copy("strides", p.slot + 1 + p.shape.size());
    }
    if (info.workspaces.empty())
      out << "  (void)attentile_workspace;\n";
    else
      out << "  int64_t attentile_next = "
             "((int64_t)(intptr_t)attentile_workspace + 63) / 64 * 64;\n";
    for (size_t k = 0; k < info.workspaces.size(); ++k)
      out << "  attentile_args[" << info.workspaces[k].slot
          << "] = attentile_next;\n  attentile_next += " << workspaceBytes(k)
          << ";\n";
    if (!info.workspaces.empty())
      fail("!attentile_workspace", "expected workspace, got null");
    out << "  return (int)" << native::symbolOf(info.name + "_check")
        << "(attentile_args);\n}\n";
  }

  void writeMessages() {
    out << "\n/* What a code says. */\nstatic inline const char *" << name
        << "_message(int code) {\n  switch (code) {\n  case 0:\n    return "
           "\"success\";\n";
    unsigned code = 0;
    auto write = [&](const std::string &message) {
      out << "  case " << ++code << ":\n    return \"";
      out.write_escaped(message) << "\";\n";
    };
    for (const std::string &constraint : info.constraints)
      write("constraint does not hold: " + constraint);
    for_each(messages, write);
    out << "  default:\n    return \"unknown code\";\n  }\n}\n";
  }

  void writeRun() {
    out << "\n/* The cells of kernel k's grid. */\nstatic inline int64_t "
        << name << "_cells(const int64_t *args, int k) {\n  switch (k) {\n";
    for (auto [k, kernel] : enumerate(info.kernels))
      out << "  case " << k << ":\n    return "
          << native::symbolOf(kernel.name + "_cells") << "(args);\n";
    out << "  default:\n    return 0;\n  }\n}\n"
        << "\n/* Runs the cells from begin to end - 1 of kernel k. */\n"
        << "static inline void " << name
        << "_range(const int64_t *args, int k, int64_t begin, int64_t end, "
           "void *scratch) {\n"
           "  void *aligned = (void *)(((intptr_t)scratch + 63) / 64 * 64);\n"
           "  switch (k) {\n";
    for (auto [k, kernel] : enumerate(info.kernels))
      out << "  case " << k << ":\n    " << native::symbolOf(kernel.name)
          << "(args, begin, end, aligned);\n    break;\n";
    out << "  default:\n    break;\n  }\n}\n";

    out << "\n/* Runs everything; see above. */\nstatic inline int " << name
        << "(" << parameters()
        << ", void *attentile_workspace, void *attentile_scratch) {\n"
        << "  int64_t attentile_args[" << macro("ARGS")
        << "];\n  int attentile_k;\n  int attentile_code = " << name
        << "_prepare(attentile_args, " << uses()
        << ", attentile_workspace);\n  if (attentile_code != 0)\n    return "
           "attentile_code;\n";
    if (info.scratchBytes())
      fail("!attentile_scratch", "expected scratch, got null");
    out << "  for (attentile_k = 0; attentile_k < " << macro("KERNELS")
        << "; ++attentile_k)\n    " << name
        << "_range(attentile_args, attentile_k, 0, " << name
        << "_cells(attentile_args, attentile_k), attentile_scratch);\n"
           "  return 0;\n}\n";
  }

  struct Check {
    std::string size;
    const ExtentExpr *extent;
    std::string where;
  };

  const NativeTarget &target;
  std::string text;
  std::vector<std::string> messages;
  std::vector<Check> checks;
  raw_string_ostream out;
};

} // namespace

std::string emitHeader(const ProgramInfo &info, const NativeTarget &target) {
  return HeaderWriter(info, target).write();
}

} // namespace attentile
