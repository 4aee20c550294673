"""The pictures and widgets of lesson 03. What draws or measures is imported when it is called."""

from labs.first_kernels.flight import explore_threads, launch_times, threads_picture
from labs.first_kernels.grids import explore_grid
from labs.first_kernels.peers import two_ways
from labs.first_kernels.predictions import predict_apart, reveal_apart
from labs.first_kernels.roofs import product_bytes, roof
from labs.first_kernels.strides import explore_addresses, explore_banks, sweep
from labs.first_kernels.wide_loads import instructions, listing, wide_loads

__all__ = [
    "explore_addresses",
    "explore_banks",
    "explore_grid",
    "explore_threads",
    "instructions",
    "launch_times",
    "listing",
    "predict_apart",
    "product_bytes",
    "reveal_apart",
    "roof",
    "sweep",
    "threads_picture",
    "two_ways",
    "wide_loads",
]
