//===- Passes.td - passes from tile loops to native code ------*- tablegen -*-===//
//
// In run order. Each description shows what the pass does, before and after.
//
//===----------------------------------------------------------------------===//

include "mlir/Pass/PassBase.td"

def AttnExpandIntegerDivision : Pass<"attn-expand-integer-division"> {
  let summary = "lowers total integer division to arith";
  let description = [{
    Replaces `attn.floordiv` and `attn.floormod`, on scalars and vectors, by
    operations that the machine has: division truncates there, and division by
    0 and of the least integer by -1 trap. A constant divisor needs no guard,
    a power of two no division.

    ```mlir
    %q = attn.floordiv %a, %c8 : index
    // becomes
    %q = arith.shrsi %a, %c3 : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}
