//===- Header.cpp - a C header with a kernel in it ------------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attentile/PTX.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attentile {

/// A byte array, 16 a line.
static void printBytes(raw_ostream &os, const Twine &name, StringRef bytes) {
  os << "static const unsigned char " << name << "[] = {";
  for (size_t i = 0; i < bytes.size(); ++i)
    os << (i % 16 == 0 ? "\n  " : " ") << unsigned((unsigned char)bytes[i])
       << ',';
  os << "\n};\n\n";
}

/// The C type of a scalar.
static StringRef scalarType(StringRef type) {
  return StringSwitch<StringRef>(type)
      .Cases({"f32", "f16", "bf16"}, "float")
      .Case("bool", "int")
      .Default("int64_t");
}

/// `[B, H, M, 128]`, for a comment; expressions other than names and numbers as
/// the manifest has them.
static std::string shapeText(const json::Array &shape) {
  std::string text = "[";
  for (const json::Value &extent : shape) {
    if (text.size() > 1)
      text += ", ";
    if (auto name = extent.getAsString())
      text += name->str();
    else
      text += formatv("{0}", extent).str();
  }
  return text + "]";
}

std::string emitGpuHeader(const json::Object &manifest, StringRef manifestText,
                          StringRef cubin, StringRef ptx) {
  std::string name = manifest.getString("kernel")->str();
  std::string prefix = "attentile_" + name;
  std::string guard = StringRef(prefix).upper() + "_H";
  const json::Array &tensors = *manifest.getArray("tensors");
  const json::Array &scalars = *manifest.getArray("scalars");
  std::string text;
  raw_string_ostream os(text);
  os << "/* Kernel " << name << " for " << *manifest.getString("target")
     << ", made by attentile " << *manifest.getString("compiler")
     << ". Link with attentile-runtime.\n *\n"
     << " *   attentile_kernel *kernel;\n *   " << prefix
     << "_open(&kernel);\n *   " << prefix
     << "_launch(kernel, ..., stream);\n *   attentile_close(kernel);\n */\n"
     << "#ifndef " << guard << "\n#define " << guard << "\n\n"
     << "#include \"attentile-c/runtime.h\"\n\n";
  printBytes(os, prefix + "_manifest", manifestText);
  printBytes(os, prefix + "_image", cubin.empty() ? ptx : cubin);
  bool isCubin = !cubin.empty();
  std::string image = formatv("{0}_image, sizeof {0}_image", prefix);
  os << "/** Opens the kernel; give it back with attentile_close. */\n"
     << "static inline attentile_status " << prefix
     << "_open(attentile_kernel **kernel) {\n  return attentile_open_memory(\n"
     << "      (const char *)" << prefix << "_manifest, sizeof " << prefix
     << "_manifest,\n      "
     << (isCubin ? image + ", 0, 0" : "0, 0, (const char *)" + image)
     << ", kernel);\n}\n\n";

  os << "/** Launches the kernel on `stream`; workspace is allocated there.\n";
  for (const json::Value &tensor : tensors) {
    const json::Object &object = *tensor.getAsObject();
    os << "    " << *object.getString("name") << ": "
       << *object.getString("role") << ", " << *object.getString("type")
       << shapeText(*object.getArray("shape")) << "\n";
  }
  for (const json::Value &scalar : scalars) {
    const json::Object &object = *scalar.getAsObject();
    if (object.get("default")->kind() != json::Value::Null)
      os << "    " << *object.getString("name") << ": null for its default\n";
  }
  os << "    What is wrong with the arguments is refused "
        "(attentile_error_message). */\n"
     << "static inline attentile_status " << prefix
     << "_launch(\n    attentile_kernel *attentile_k";
  for (const json::Value &tensor : tensors)
    os << ",\n    const attentile_tensor *arg_"
       << *tensor.getAsObject()->getString("name");
  for (const json::Value &scalar : scalars) {
    const json::Object &object = *scalar.getAsObject();
    bool hasDefault = object.get("default")->kind() != json::Value::Null;
    StringRef type = scalarType(*object.getString("type"));
    os << ",\n    " << (hasDefault ? "const " : "") << type
       << (hasDefault ? " *" : " ") << "arg_" << *object.getString("name");
  }
  os << ",\n    attentile_stream stream) {\n";
  os << "  attentile_tensor tensors[" << tensors.size() << "];\n";
  os << "  attentile_scalar scalars[" << std::max<size_t>(scalars.size(), 1)
     << "];\n  size_t count = 0;\n  attentile_arguments arguments;\n";
  for (auto [i, tensor] : enumerate(tensors))
    os << "  tensors[" << i << "] = *arg_"
       << *tensor.getAsObject()->getString("name") << ";\n";
  for (const json::Value &scalar : scalars) {
    const json::Object &object = *scalar.getAsObject();
    bool hasDefault = object.get("default")->kind() != json::Value::Null;
    StringRef scalarName = *object.getString("name");
    bool isReal = scalarType(*object.getString("type")) == "float";
    std::string value = (hasDefault ? "*arg_" : "arg_") + scalarName.str();
    std::string indent = hasDefault ? "    " : "  ";
    if (hasDefault)
      os << "  if (arg_" << scalarName << ") {\n";
    os << indent << "scalars[count].name = \"" << scalarName << "\";\n"
       << indent << "scalars[count].type = "
       << (isReal ? "ATTENTILE_F32" : "ATTENTILE_I64") << ";\n"
       << indent << "scalars[count++].value."
       << (isReal ? "real = " : "integer = ") << value << ";\n";
    if (hasDefault)
      os << "  }\n";
  }
  os << "  arguments.tensors = tensors;\n"
     << "  arguments.tensor_count = " << tensors.size() << ";\n"
     << "  arguments.scalars = scalars;\n"
     << "  arguments.scalar_count = count;\n"
     << "  return attentile_launch_allocating(attentile_k, &arguments, "
        "stream);\n}\n\n#endif\n";
  return text;
}

} // namespace attentile
