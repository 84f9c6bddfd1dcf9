// RUN: attentile-opt %s --warp-pipeline-copies=stages=0 -verify-diagnostics

// expected-error@+1 {{expected 1 or more stages, got 0}}
module {
}
