// A program of somebody else's that uses the installed compiler as a library.
#include "Attn/Attn.h"
#include "attentile/Tensor.h"
#include "mlir/IR/MLIRContext.h"
#include <cstdio>

int main() {
  mlir::MLIRContext context;
  context.loadDialect<attentile::attn::AttnDialect>();
  std::printf("%s %d\n", attentile::nameOf(attentile::ElementType::BF16),
              context.isOperationRegistered("attn.kernel"));
}
