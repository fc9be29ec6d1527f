"""Running: the kernel, threads, memory and progress of a call."""
