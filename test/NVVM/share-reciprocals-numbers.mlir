// The numbers themselves, once all is known: quotients and remainders at the ends of the range and beside multiples.
// RUN: attentile-opt %s --warp-share-reciprocals \
// RUN:   | sed -E 's/arith.index_cast %[xw]_([0-9]+) : index to i32/arith.constant \1 : i32/' \
// RUN:   | attentile-opt --canonicalize | FileCheck %s
// CHECK-NOT: arith.divui
// CHECK: scf.for
// CHECK: warp.store %c2147483647_i32{{[_0-9]*}}, %Y[%c0{{[_0-9]*}}]
// CHECK: warp.store %c0_i32{{[_0-9]*}}, %Z[%c0{{[_0-9]*}}]
// CHECK: warp.store %c1_i32{{[_0-9]*}}, %Y[%c1{{[_0-9]*}}]
// CHECK: warp.store %c0_i32{{[_0-9]*}}, %Z[%c1{{[_0-9]*}}]
// CHECK: warp.store %c0_i32{{[_0-9]*}}, %Y[%c2{{[_0-9]*}}]
// CHECK: warp.store %c2147483646_i32{{[_0-9]*}}, %Z[%c2{{[_0-9]*}}]
// CHECK: warp.store %c32768_i32{{[_0-9]*}}, %Y[%c3{{[_0-9]*}}]
// CHECK: warp.store %c32766_i32{{[_0-9]*}}, %Z[%c3{{[_0-9]*}}]
// CHECK: warp.store %c32767_i32{{[_0-9]*}}, %Y[%c4{{[_0-9]*}}]
// CHECK: warp.store %c0_i32{{[_0-9]*}}, %Z[%c4{{[_0-9]*}}]
// CHECK: warp.store %c32766_i32{{[_0-9]*}}, %Y[%c5{{[_0-9]*}}]
// CHECK: warp.store %c65534_i32{{[_0-9]*}}, %Z[%c5{{[_0-9]*}}]
// CHECK: warp.store %c715827882_i32{{[_0-9]*}}, %Y[%c6{{[_0-9]*}}]
// CHECK: warp.store %c1_i32{{[_0-9]*}}, %Z[%c6{{[_0-9]*}}]
// CHECK: warp.store %c0_i32{{[_0-9]*}}, %Y[%c7{{[_0-9]*}}]
// CHECK: warp.store %c1000000006_i32{{[_0-9]*}}, %Z[%c7{{[_0-9]*}}]
// CHECK: warp.store %c0_i32{{[_0-9]*}}, %Y[%c8{{[_0-9]*}}]
// CHECK: warp.store %c0_i32{{[_0-9]*}}, %Z[%c8{{[_0-9]*}}]
// CHECK: warp.store %c0_i32{{[_0-9]*}}, %Y[%c9{{[_0-9]*}}]
// CHECK: warp.store %c99_i32{{[_0-9]*}}, %Z[%c9{{[_0-9]*}}]
// CHECK: warp.store %c2_i32{{[_0-9]*}}, %Y[%c10{{[_0-9]*}}]
// CHECK: warp.store %c1_i32{{[_0-9]*}}, %Z[%c10{{[_0-9]*}}]
// CHECK: warp.store %c46339_i32{{[_0-9]*}}, %Y[%c11{{[_0-9]*}}]
// CHECK: warp.store %c46339_i32{{[_0-9]*}}, %Z[%c11{{[_0-9]*}}]
tile.program @p sizes(%N) ins(%w_1: index, %w_100: index, %w_1000000007: index, %w_2147483647: index, %w_3: index, %w_46340: index, %w_5: index, %w_65535: index, %w_715827882: index, %x_0: index, %x_1000000006: index, %x_1431655765: index, %x_2147385344: index, %x_2147385345: index, %x_2147395599: index, %x_2147483646: index, %x_2147483647: index, %x_99: index) outs(%Y: i32[N], %Z: i32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c11 = arith.constant 11 : index
  warp.kernel @divided grid(%i < %N) warps(1) {
    %vw_1 = arith.index_cast %w_1 : index to i32
    %vw_100 = arith.index_cast %w_100 : index to i32
    %vw_1000000007 = arith.index_cast %w_1000000007 : index to i32
    %vw_2147483647 = arith.index_cast %w_2147483647 : index to i32
    %vw_3 = arith.index_cast %w_3 : index to i32
    %vw_46340 = arith.index_cast %w_46340 : index to i32
    %vw_5 = arith.index_cast %w_5 : index to i32
    %vw_65535 = arith.index_cast %w_65535 : index to i32
    %vw_715827882 = arith.index_cast %w_715827882 : index to i32
    %vx_0 = arith.index_cast %x_0 : index to i32
    %vx_1000000006 = arith.index_cast %x_1000000006 : index to i32
    %vx_1431655765 = arith.index_cast %x_1431655765 : index to i32
    %vx_2147385344 = arith.index_cast %x_2147385344 : index to i32
    %vx_2147385345 = arith.index_cast %x_2147385345 : index to i32
    %vx_2147395599 = arith.index_cast %x_2147395599 : index to i32
    %vx_2147483646 = arith.index_cast %x_2147483646 : index to i32
    %vx_2147483647 = arith.index_cast %x_2147483647 : index to i32
    %vx_99 = arith.index_cast %x_99 : index to i32
    scf.for %n = %c0 to %N step %c1 {
      %q0 = arith.divui %vx_2147483647, %vw_1 : i32
      warp.store %q0, %Y[%c0] : i32, tensor<?xi32>
      %r0 = arith.remui %vx_2147483647, %vw_1 : i32
      warp.store %r0, %Z[%c0] : i32, tensor<?xi32>
      %q1 = arith.divui %vx_2147483647, %vw_2147483647 : i32
      warp.store %q1, %Y[%c1] : i32, tensor<?xi32>
      %r1 = arith.remui %vx_2147483647, %vw_2147483647 : i32
      warp.store %r1, %Z[%c1] : i32, tensor<?xi32>
      %q2 = arith.divui %vx_2147483646, %vw_2147483647 : i32
      warp.store %q2, %Y[%c2] : i32, tensor<?xi32>
      %r2 = arith.remui %vx_2147483646, %vw_2147483647 : i32
      warp.store %r2, %Z[%c2] : i32, tensor<?xi32>
      %q3 = arith.divui %vx_2147483646, %vw_65535 : i32
      warp.store %q3, %Y[%c3] : i32, tensor<?xi32>
      %r3 = arith.remui %vx_2147483646, %vw_65535 : i32
      warp.store %r3, %Z[%c3] : i32, tensor<?xi32>
      %q4 = arith.divui %vx_2147385345, %vw_65535 : i32
      warp.store %q4, %Y[%c4] : i32, tensor<?xi32>
      %r4 = arith.remui %vx_2147385345, %vw_65535 : i32
      warp.store %r4, %Z[%c4] : i32, tensor<?xi32>
      %q5 = arith.divui %vx_2147385344, %vw_65535 : i32
      warp.store %q5, %Y[%c5] : i32, tensor<?xi32>
      %r5 = arith.remui %vx_2147385344, %vw_65535 : i32
      warp.store %r5, %Z[%c5] : i32, tensor<?xi32>
      %q6 = arith.divui %vx_2147483647, %vw_3 : i32
      warp.store %q6, %Y[%c6] : i32, tensor<?xi32>
      %r6 = arith.remui %vx_2147483647, %vw_3 : i32
      warp.store %r6, %Z[%c6] : i32, tensor<?xi32>
      %q7 = arith.divui %vx_1000000006, %vw_1000000007 : i32
      warp.store %q7, %Y[%c7] : i32, tensor<?xi32>
      %r7 = arith.remui %vx_1000000006, %vw_1000000007 : i32
      warp.store %r7, %Z[%c7] : i32, tensor<?xi32>
      %q8 = arith.divui %vx_0, %vw_5 : i32
      warp.store %q8, %Y[%c8] : i32, tensor<?xi32>
      %r8 = arith.remui %vx_0, %vw_5 : i32
      warp.store %r8, %Z[%c8] : i32, tensor<?xi32>
      %q9 = arith.divui %vx_99, %vw_100 : i32
      warp.store %q9, %Y[%c9] : i32, tensor<?xi32>
      %r9 = arith.remui %vx_99, %vw_100 : i32
      warp.store %r9, %Z[%c9] : i32, tensor<?xi32>
      %q10 = arith.divui %vx_1431655765, %vw_715827882 : i32
      warp.store %q10, %Y[%c10] : i32, tensor<?xi32>
      %r10 = arith.remui %vx_1431655765, %vw_715827882 : i32
      warp.store %r10, %Z[%c10] : i32, tensor<?xi32>
      %q11 = arith.divui %vx_2147395599, %vw_46340 : i32
      warp.store %q11, %Y[%c11] : i32, tensor<?xi32>
      %r11 = arith.remui %vx_2147395599, %vw_46340 : i32
      warp.store %r11, %Z[%c11] : i32, tensor<?xi32>
    }
  }
}
