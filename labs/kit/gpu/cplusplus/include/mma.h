// Makes nvcuda::wmma visible, as CUDA's header of this name does; that one also includes both 16-bit types.
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_on_cpu.h"
namespace nvcuda {
namespace wmma {
using namespace emulated_wmma;
}
}  // namespace nvcuda
