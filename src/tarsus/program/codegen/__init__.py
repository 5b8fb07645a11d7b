"""Code generation: from operations to LLVM IR and C, kernels, and the layout of registers."""
