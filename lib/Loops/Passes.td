//===- Passes.td - passes from the formula to tile loops -------*- tablegen -*-===//
//
// In run order. Each description shows what the pass does, before and after.
//
//===----------------------------------------------------------------------===//

include "mlir/Pass/PassBase.td"

def TileVerify : Pass<"tile-verify"> {
  let summary = "checks what must hold of the tile level";
  let description = [{
    Ends each stage of the tile level, always on: no operation of index
    notation is left but those that the level keeps (assume, default,
    workspace, total integer division), and every loop over tiles names its
    axis.
  }];
}
