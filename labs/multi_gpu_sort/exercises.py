"""The exercises and questions of lesson 17, in the order and under the names in which its notebook calls them."""

from labs.multi_gpu_sort import (
    exercises_best,
    exercises_merge,
    exercises_pair,
    exercises_pivot,
    exercises_quiz,
    exercises_radix,
    exercises_recursion,
)

find_pivot = exercises_pivot.find_pivot
sort_pair = exercises_pair.sort_pair
radix_partition = exercises_radix.radix_partition

cut = exercises_merge.cut
sort_ranks = exercises_recursion.sort_ranks
best_sort = exercises_best.best_sort

tie = exercises_quiz.tie
checked = exercises_quiz.checked
padding = exercises_quiz.padding
six = exercises_quiz.six
