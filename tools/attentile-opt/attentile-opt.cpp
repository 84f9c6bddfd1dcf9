//===- attentile-opt.cpp - MLIR's opt with our dialects and passes --------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attn/Attn.h"
#include "Tile/Tile.h"
#include "Warp/Warp.h"
#include "attentile/Loops/Passes.h"
#include "attentile/Mapping/Passes.h"
#include "attentile/NVVM/Passes.h"
#include "attentile/Native/Passes.h"
#include "attentile/Native/Pipeline.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<attentile::attn::AttnDialect, attentile::tile::TileDialect,
                  attentile::warp::WarpDialect>();
  mlir::registerAllPasses();
  attentile::registerAttentileLoopsPasses();
  attentile::registerAttentileMappingPasses();
  attentile::registerAttentileNativePasses();
  attentile::registerNativePipelines();
  attentile::registerAttentileNVVMPasses();
  attentile::registerNVVMPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "attentile's optimizer\n", registry));
}
