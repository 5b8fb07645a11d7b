"""From operations to LLVM: functions, kernels and the layout of the registers in memory."""
