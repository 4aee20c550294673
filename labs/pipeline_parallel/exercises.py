"""The exercises and questions of lesson 12, in the order and under the names in which its notebook calls them."""

from labs.pipeline_parallel import (
    exercises_1f1b,
    exercises_choose,
    exercises_gpipe,
    exercises_interleave,
    exercises_quiz,
    exercises_run,
    exercises_zero_bubble,
)

gpipe = exercises_gpipe.gpipe
one_f_one_b = exercises_1f1b.one_f_one_b
choose_m = exercises_choose.choose_m
zero_bubble = exercises_zero_bubble.zero_bubble

run_schedule = exercises_run.run_schedule
interleave = exercises_interleave.interleave

what_1f1b_saves = exercises_quiz.what_1f1b_saves
more_micro_batches = exercises_quiz.more_micro_batches
slow_backward = exercises_quiz.slow_backward
norm_tells = exercises_quiz.norm_tells
who_deadlocks = exercises_quiz.who_deadlocks
