"""The pictures, widgets and measurements of lesson 07. What draws or trains is imported when it is called."""

from labs.data_parallel.dealing import deal, shards_picture
from labs.data_parallel.predictions import predict_step, reveal_step, step_ratio
from labs.data_parallel.rates import training_picture, warm_up
from labs.data_parallel.timing import measure, table

__all__ = [
    "deal",
    "measure",
    "predict_step",
    "reveal_step",
    "shards_picture",
    "step_ratio",
    "table",
    "training_picture",
    "warm_up",
]
