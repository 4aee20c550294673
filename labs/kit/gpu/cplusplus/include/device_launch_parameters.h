// Nothing to open: what kernels use of this header is always there.
#include "cuda_on_cpu.h"
