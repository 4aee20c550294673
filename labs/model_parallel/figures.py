"""The pictures, widgets and measurements of lesson 11. What draws or trains is imported when it is called."""

from labs.model_parallel.freezing import early_and_late
from labs.model_parallel.offers import compare, explore_plans
from labs.model_parallel.predictions import predict_faster, predict_memory, reveal
from labs.model_parallel.real import measure, table
from labs.model_parallel.serving import latency_picture, stream_table
from labs.model_parallel.timelines import depth, idle_table, one_batch

__all__ = [
    "compare",
    "depth",
    "early_and_late",
    "explore_plans",
    "idle_table",
    "latency_picture",
    "measure",
    "one_batch",
    "predict_faster",
    "predict_memory",
    "reveal",
    "stream_table",
    "table",
]
