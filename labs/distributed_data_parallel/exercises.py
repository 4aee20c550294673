"""The exercises and questions of lesson 10, in the order and under the names in which its notebook calls them."""

from labs.distributed_data_parallel import (
    exercises_buckets,
    exercises_compress,
    exercises_ddp,
    exercises_pieces,
    exercises_quiz,
    exercises_serve,
)

assign_buckets = exercises_buckets.assign_buckets
ddp = exercises_ddp.ddp
in_pieces = exercises_pieces.in_pieces

compress = exercises_compress.compress
serve = exercises_serve.serve

first_bucket = exercises_quiz.first_bucket
off_by_one = exercises_quiz.off_by_one
clip_when = exercises_quiz.clip_when
smaller_buckets = exercises_quiz.smaller_buckets
