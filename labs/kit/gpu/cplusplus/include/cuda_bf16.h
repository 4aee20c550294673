// Makes __nv_bfloat16 and its functions visible, as CUDA's header of this name does.
#include "cuda_on_cpu.h"
using namespace emulated_bf16;
