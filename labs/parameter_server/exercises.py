"""The exercises and questions of lesson 09, in the order and under the names in which its notebook calls them."""

from labs.parameter_server import (
    exercises_best,
    exercises_bounded,
    exercises_quiz,
    exercises_shard,
    exercises_synchronous,
)

synchronous = exercises_synchronous.synchronous
shard_by_size = exercises_shard.shard_by_size
best_servers = exercises_best.best_servers

bounded_server = exercises_bounded.bounded_server

always_bottleneck = exercises_quiz.always_bottleneck
more_servers = exercises_quiz.more_servers
same_loss = exercises_quiz.same_loss
legal = exercises_quiz.legal
