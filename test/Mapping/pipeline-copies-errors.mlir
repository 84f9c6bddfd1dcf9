// RUN: attentile-opt %s --warp-pipeline-copies=stages=-1 -verify-diagnostics

// expected-error@+1 {{expected 0 or more stages, got -1}}
module {
}
