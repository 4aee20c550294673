// CUDA C++ on the CPU: included in front of a learner's kernels, which stay as they are.
//
// Everything is parsed here, before the first line of the learner, so that no macro of theirs (`#define T 16`) can
// reach into it. What CUDA gives only after an #include (half, bfloat16, WMMA) lives in namespaces of its own; the
// headers of those names beside this file open them.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>
#include <type_traits>
#include <utility>

#include "cuda_on_cpu/keywords.h"
#include "cuda_on_cpu/vectors.h"
#include "cuda_on_cpu/machine.h"
#include "cuda_on_cpu/warps.h"
#include "cuda_on_cpu/atomics.h"
#include "cuda_on_cpu/arithmetic.h"
#include "cuda_on_cpu/small_floats.h"
#include "cuda_on_cpu/half.h"
#include "cuda_on_cpu/bfloat16.h"
#include "cuda_on_cpu/fragments.h"
#include "cuda_on_cpu/wmma.h"
#include "cuda_on_cpu/entry.h"
