"""The pictures and widgets of lesson 08. What draws or measures is imported when it is called."""

from labs.all_reduce.costs_pictures import grows_with_ranks, ring_or_tree
from labs.all_reduce.orders import order_times
from labs.all_reduce.predictions import predict_best, predict_collector, reveal
from labs.all_reduce.rounds import watch_all_gather, watch_reduce_scatter
from labs.all_reduce.timing import measure, measured, model_line

__all__ = [
    "grows_with_ranks",
    "measure",
    "measured",
    "model_line",
    "order_times",
    "predict_best",
    "predict_collector",
    "reveal",
    "ring_or_tree",
    "watch_all_gather",
    "watch_reduce_scatter",
]
