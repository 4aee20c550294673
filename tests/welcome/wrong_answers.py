"""Misconceptions of the first lesson, as learners write them; each draws its own hint."""

WRONG = {
    "square": {
        "not_squared": "def square(dist):\n    return dist.get_rank()\n",
        "doubled": "def square(dist):\n    return dist.get_rank() * 2\n",
        "xor": "def square(dist):\n    return dist.get_rank() ^ 2\n",
        "counted_from_one": "def square(dist):\n    return (dist.get_rank() + 1) ** 2\n",
        "same_everywhere": "def square(dist):\n    return dist.get_world_size() ** 2\n",
        "all_at_once": "def square(dist):\n    return [r**2 for r in range(dist.get_world_size())]\n",
        "nothing_returned": "def square(dist):\n    rank = dist.get_rank()\n    square = rank**2\n",
        "text_not_number": "def square(dist):\n    return str(dist.get_rank() ** 2)\n",
        "more_than_a_number": "def square(dist):\n    return dist.get_rank(), dist.get_rank() ** 2\n",
        "some_return_nothing": "def square(dist):\n    if dist.get_rank() == 3:\n        return 9\n",
        "power_the_wrong_way": "def square(dist):\n    return 2 ** dist.get_rank()\n",
        "times_world_size": "def square(dist):\n    return dist.get_rank() * dist.get_world_size()\n",
        "counts_on": "counter = 0\n\n\ndef square(dist):\n    global counter\n    counter += 1\n"
        "    return (counter - 1) ** 2\n",
        "module_not_argument": "def square(dist):\n    import torch\n\n    return torch.distributed.get_rank() ** 2\n",
        "other_values": "def square(dist):\n    return -(dist.get_rank() ** 2) + 1\n",
    },
    "average": {
        "sum_not_mean": "def average(value, dist):\n    dist.all_reduce(value)\n    return value\n",
        "own_values_only": "def average(value, dist):\n    return value.mean()\n",
        "divided_twice": "def average(value, dist):\n    n = dist.get_world_size()\n    value /= n\n"
        "    dist.all_reduce(value)\n    return value / n\n",
        "rounded_down": "def average(value, dist):\n    dist.all_reduce(value)\n    return value // dist.get_world_size()\n",
        "only_rank_0": "def average(value, dist):\n    dist.reduce(value, dst=0)\n    n = dist.get_world_size()\n"
        "    return value / n if dist.get_rank() == 0 else value\n",
        "fixed_number_of_ranks": "def average(value, dist):\n    dist.all_reduce(value)\n    return value / 4\n",
        "one_rank_skips": "def average(value, dist):\n    if dist.get_rank() == 0:\n        dist.all_reduce(value)\n"
        "    return value / dist.get_world_size()\n",
        "nothing_returned": "def average(value, dist):\n    dist.all_reduce(value)\n    value /= dist.get_world_size()\n",
        "gathers_everything": "def average(value, dist):\n    import torch\n\n"
        "    parts = [torch.empty_like(value) for _ in range(dist.get_world_size())]\n"
        "    dist.all_gather(parts, value)\n    return torch.stack(parts).mean(0)\n",
        "works_in_place": "def average(value, dist):\n    return dist.all_reduce(value) / dist.get_world_size()\n",
        "nothing_added_up": "def average(value, dist):\n    return value / dist.get_world_size()\n",
        "sum_went_elsewhere": "def average(value, dist):\n    dist.all_reduce(value, async_op=True)\n"
        "    return value / dist.get_world_size()\n",
        "divided_by_rank": "def average(value, dist):\n    dist.all_reduce(value)\n    return value / dist.get_rank()\n",
        "mean_of_the_sum": "def average(value, dist):\n    dist.all_reduce(value)\n    return value.mean()\n",
        "not_like_value": "def average(value, dist):\n    dist.all_reduce(value)\n"
        "    return (value / dist.get_world_size()).tolist()\n",
        "lost_digits": "def average(value, dist):\n    value = value.float()\n    dist.all_reduce(value)\n"
        "    return value / dist.get_world_size()\n",
        "largest_or_smallest": "def average(value, dist):\n    dist.all_reduce(value, op=dist.ReduceOp.MAX)\n    return value\n",
        "copied_rank_0": "def average(value, dist):\n    dist.broadcast(value, src=0)\n"
        "    return value / dist.get_world_size()\n",
        "reduced_again": "def average(value, dist):\n    for _ in range(dist.get_world_size()):\n"
        "        dist.all_reduce(value)\n    return value / dist.get_world_size()\n",
        "returns_on_rank_0": "def average(value, dist):\n    dist.all_reduce(value)\n    if dist.get_rank() == 0:\n"
        "        return value / dist.get_world_size()\n",
        "module_not_argument": "def average(value, dist):\n    import torch.distributed as dist\n\n    dist.all_reduce(value)\n"
        "    return value / dist.get_world_size()\n",
        "other_values": "def average(value, dist):\n    dist.all_reduce(value)\n    return value / dist.get_world_size() + 1\n",
    },
    "add_one": {
        "no_guard": "from labs.kit.gpu import cuda\n\n\n@cuda.jit\ndef add_one(x):\n    i = cuda.grid(1)\n"
        "    x[i] += 1\n",
        "one_element": "from labs.kit.gpu import cuda\n\n\n@cuda.jit\ndef add_one(x):\n    i = cuda.grid(1)\n"
        "    if i == 0:\n        x[0] += 1\n",
        "thread_without_block": "from labs.kit.gpu import cuda\n\n\n@cuda.jit\ndef add_one(x):\n    i = cuda.grid(1)\n"
        "    t = cuda.threadIdx.x\n    if i < 32 and t < x.size:\n        x[t] += 1\n",
        "all_do_all": "from labs.kit.gpu import cuda\n\n\n@cuda.jit\ndef add_one(x):\n    i = cuda.grid(1)\n"
        "    for k in range(x.size):\n        cuda.atomic.add(x, k, 1)\n",
        "nothing_changed": "from labs.kit.gpu import cuda\n\n\n@cuda.jit\ndef add_one(x):\n    i = cuda.grid(1)\n"
        "    if i < x.size:\n        x[i] + 1\n",
        "values": "from labs.kit.gpu import cuda\n\n\n@cuda.jit\ndef add_one(x):\n    i = cuda.grid(1)\n"
        "    if i < x.size:\n        x[i] -= 1\n",
        "same_element": "from labs.kit.gpu import cuda\n\n\n@cuda.jit\ndef add_one(x):\n    i = cuda.grid(1)\n"
        "    if i < x.size:\n        x[i] += 1\n        x[0] = x[0]\n",
        "not_a_kernel": "def add_one(x):\n    for i in range(len(x)):\n        x[i] += 1\n",
    },
}
