// RUN: attentile-opt %s --nvvm-thread-branches | FileCheck %s

// Where nothing was speculated the slow side is next, and the probability comes
// from one block alone.
// CHECK-LABEL: llvm.func @decide
// CHECK: cf.cond_br %{{.*}}, ^[[SPECULATE:.*]], ^[[ELSE:.*]]
// CHECK: ^[[SPECULATE]]:
// CHECK: cf.br ^[[MEET:.*]](%{{.*}}, %{{.*}} : f32, i1)
// CHECK: ^[[ELSE]]:
// CHECK: cf.br ^[[SLOW:bb[0-9]+]]
// CHECK: ^[[MEET]](%{{.*}}: f32, %[[OK:.*]]: i1):
// CHECK-NEXT: cf.cond_br %[[OK]], ^{{.*}}, ^[[SLOW]]
llvm.func @decide(%calm: i1, %x: f32, %limit: f32) -> f32 {
  %false = arith.constant false
  cf.cond_br %calm, ^speculate, ^else
^speculate:
  %p = math.exp2 %x : f32
  %small = arith.cmpf ole, %p, %limit : f32
  cf.br ^meet(%p, %small : f32, i1)
^else:
  %nothing = ub.poison : f32
  cf.br ^meet(%nothing, %false : f32, i1)
^meet(%q: f32, %ok: i1):
  cf.br ^next
^next:
  cf.cond_br %ok, ^fast, ^slow
^fast:
  cf.br ^end(%q : f32)
^slow:
  %s = arith.addf %x, %x : f32
  cf.br ^end(%s : f32)
^end(%r: f32):
  llvm.return %r : f32
}

// What is used behind both sides must come from both.
// CHECK-LABEL: llvm.func @used_behind
// CHECK: cf.cond_br
// CHECK: cf.br ^[[MEET:bb[0-9]+]](
// CHECK: cf.br ^[[MEET]](
llvm.func @used_behind(%calm: i1, %x: f32) -> f32 {
  %false = arith.constant false
  %true = arith.constant true
  cf.cond_br %calm, ^speculate, ^else
^speculate:
  %p = math.exp2 %x : f32
  cf.br ^meet(%p, %true : f32, i1)
^else:
  cf.br ^meet(%x, %false : f32, i1)
^meet(%q: f32, %ok: i1):
  cf.cond_br %ok, ^fast, ^slow
^fast:
  cf.br ^end
^slow:
  cf.br ^end
^end:
  llvm.return %q : f32
}
