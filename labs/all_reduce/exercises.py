"""The exercises and questions of lesson 08, in the order and under the names in which its notebook calls them."""

from labs.all_reduce import (
    exercises_chunks,
    exercises_crossover,
    exercises_gather,
    exercises_hierarchy,
    exercises_quiz,
    exercises_ring,
    exercises_tree,
    exercises_two_paths,
)

chunk_bounds = exercises_chunks.chunk_bounds
reduce_scatter = exercises_ring.reduce_scatter
all_gather = exercises_gather.all_gather
crossover = exercises_crossover.crossover

tree = exercises_tree.tree
two_paths = exercises_two_paths.two_paths
hierarchical = exercises_hierarchy.hierarchical

doubled_ranks = exercises_quiz.doubled_ranks
bytes_sent = exercises_quiz.bytes_sent
last_bit = exercises_quiz.last_bit
small_message = exercises_quiz.small_message
