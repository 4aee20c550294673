"""The exercises and questions of lesson 07, in the order and under the names in which its notebook calls them."""

from labs.data_parallel import (
    exercises_accumulate,
    exercises_average,
    exercises_evaluate,
    exercises_quiz,
    exercises_rate,
    exercises_shards,
)

shard_indices = exercises_shards.shard_indices
average_gradients = exercises_average.average_gradients
learning_rate = exercises_rate.learning_rate

accumulate = exercises_accumulate.accumulate
evaluate = exercises_evaluate.evaluate

step_length = exercises_quiz.step_length
forgot_epoch = exercises_quiz.forgot_epoch
batch_norm = exercises_quiz.batch_norm
one_batch_fewer = exercises_quiz.one_batch_fewer
