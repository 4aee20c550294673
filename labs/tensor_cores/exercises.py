"""The exercises and questions of lesson 06, in the order and under the names in which its notebook calls them."""

from labs.tensor_cores import (
    exercises_any,
    exercises_count,
    exercises_dots,
    exercises_gain,
    exercises_layout,
    exercises_quiz,
    exercises_tiled,
    exercises_wmma,
)

tile_at = exercises_layout.tile_at
tiled_grid = exercises_tiled.tiled_grid
wmma_product = exercises_wmma.wmma_product
tensor_instructions = exercises_count.tensor_instructions

wmma_any = exercises_any.wmma_any
dot_rows = exercises_dots.dot_rows
gain = exercises_gain.gain

which_lane = exercises_quiz.which_lane
padded = exercises_quiz.padded
float_sums = exercises_quiz.float_sums
halves_enough = exercises_quiz.halves_enough
one_vector = exercises_quiz.one_vector
