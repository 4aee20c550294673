"""The exercises and questions of lesson 21, in the order and under the names in which its notebook calls them."""

from labs.cpp_data_formats import (
    exercises_center,
    exercises_json,
    exercises_nchw,
    exercises_parse_row,
    exercises_quiz,
    exercises_slab,
)

center_columns = exercises_center.center_columns
parse_row = exercises_parse_row.parse_row
slab = exercises_slab.slab

json_matrix = exercises_json.json_matrix
to_nchw = exercises_nchw.to_nchw

round_trip = exercises_quiz.round_trip
zero_field = exercises_quiz.zero_field
border = exercises_quiz.border
compress_noise = exercises_quiz.compress_noise
