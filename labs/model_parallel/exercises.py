"""The exercises and questions of lesson 11, in the order and under the names in which its notebook calls them."""

from labs.model_parallel import (
    exercises_freeze,
    exercises_idle,
    exercises_place,
    exercises_quiz,
    exercises_serve,
    exercises_step,
)

idle = exercises_idle.idle
place = exercises_place.place
train_step = exercises_step.train_step

bytes_needed = exercises_freeze.bytes_needed
serve_stream = exercises_serve.serve_stream

faster = exercises_quiz.faster
late_freeze = exercises_quiz.late_freeze
balance = exercises_quiz.balance
batch_norm = exercises_quiz.batch_norm
fits_anyway = exercises_quiz.fits_anyway
