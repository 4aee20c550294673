"""The pictures and widgets of lesson 17. What draws or measures is imported when it is called."""

from labs.multi_gpu_sort.comparison import by_devices, chart, on_the_devices, seconds
from labs.multi_gpu_sort.partition import partition
from labs.multi_gpu_sort.pictures import bars, halves, shares, swap
from labs.multi_gpu_sort.timing import measure
from labs.multi_gpu_sort.watch import explore_swap, predict_moves, reveal_moves, watch

__all__ = [
    "bars",
    "by_devices",
    "chart",
    "explore_swap",
    "halves",
    "measure",
    "on_the_devices",
    "partition",
    "predict_moves",
    "reveal_moves",
    "seconds",
    "shares",
    "swap",
    "watch",
]
