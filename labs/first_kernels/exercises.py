"""The exercises and questions of lesson 03, in the order and under the names in which its notebook calls them."""

from labs.first_kernels import (
    exercises_divide,
    exercises_divide8,
    exercises_product,
    exercises_quiz,
    exercises_rows,
    exercises_seconds,
    exercises_sum,
)

divide = exercises_divide.divide
block_sum = exercises_sum.block_sum
tiled_product = exercises_product.tiled_product

divide8 = exercises_divide8.divide8
split_rows = exercises_rows.split_rows
predict_seconds = exercises_seconds.predict_seconds

threads = exercises_quiz.threads
launch = exercises_quiz.launch
barrier = exercises_quiz.barrier
wide = exercises_quiz.wide
