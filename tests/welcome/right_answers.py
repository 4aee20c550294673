"""Right answers to the first lesson in different styles; all are accepted."""

RIGHT = {
    "square": {
        "times": "def square(dist):\n    rank = dist.get_rank()\n    return rank * rank\n",
        "float": "def square(dist):\n    return float(pow(dist.get_rank(), 2))\n",
        "tensor": "def square(dist):\n    import torch\n\n    return torch.tensor([dist.get_rank()]) ** 2\n",
    },
    "average": {
        "built_in": "def average(value, dist):\n    dist.all_reduce(value, op=dist.ReduceOp.AVG)\n    return value\n",
        "divide_first": "def average(value, dist):\n    share = value / dist.get_world_size()\n"
        "    dist.all_reduce(share)\n    return share\n",
        "asynchronous_and_awaited": "def average(value, dist):\n    dist.all_reduce(value, async_op=True).wait()\n"
        "    return value / dist.get_world_size()\n",
        "by_hand_from_rank_0": "def average(value, dist):\n    dist.reduce(value, dst=0)\n"
        "    value /= dist.get_world_size()\n    dist.broadcast(value, src=0)\n    return value\n",
    },
    "add_one": {
        "guard": "from labs.kit.gpu import cuda\n\n\n@cuda.jit\ndef add_one(x):\n    i = cuda.grid(1)\n"
        "    if i < x.size:\n        x[i] += 1\n",
        "early_return": "from labs.kit.gpu import cuda\n\n\n@cuda.jit\ndef add_one(x):\n"
        "    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x\n    if i >= len(x):\n        return\n"
        "    x[i] = x[i] + 1\n",
    },
}
