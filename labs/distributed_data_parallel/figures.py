"""The pictures, widgets and measurements of lesson 10. What draws or trains is imported when it is called."""

from labs.distributed_data_parallel.overlap import bucket_picture, bucket_size, overlap
from labs.distributed_data_parallel.predictions import predict_each, reveal_each
from labs.distributed_data_parallel.real import measure, profile, table, workers
from labs.distributed_data_parallel.serving import serving, serving_picture

__all__ = [
    "bucket_picture",
    "bucket_size",
    "measure",
    "overlap",
    "predict_each",
    "profile",
    "reveal_each",
    "serving",
    "serving_picture",
    "table",
    "workers",
]
