"""The pictures and widgets of lesson 06. What draws, compiles or measures is imported when it is called."""

from labs.tensor_cores.accumulation import error_curves, explore_error, predict_sum, reveal_sum
from labs.tensor_cores.lanes import explore_lanes
from labs.tensor_cores.microscope import mfma, real_listings, scalar_and_tensor, triton, wmma_listing
from labs.tensor_cores.pictures import explore_tile, one_step
from labs.tensor_cores.predictions import predict_steps, reveal_steps
from labs.tensor_cores.roofs import explore_roofline, product_on_roofs, your_kernel
from labs.tensor_cores.trial import broken, measure

__all__ = [
    "broken",
    "error_curves",
    "explore_error",
    "explore_lanes",
    "explore_roofline",
    "explore_tile",
    "measure",
    "mfma",
    "one_step",
    "predict_steps",
    "predict_sum",
    "product_on_roofs",
    "real_listings",
    "reveal_steps",
    "reveal_sum",
    "scalar_and_tensor",
    "triton",
    "wmma_listing",
    "your_kernel",
]
