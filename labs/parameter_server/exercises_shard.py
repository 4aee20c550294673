"""Exercise shard_by_size: which server keeps which parameter, so that none has much more than the others."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short
from labs.parameter_server.exercises_words import amount

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def transformer(layers, width, vocabulary):
    """Sizes (B, float32) of a transformer's tensors in order of registration: embeddings first, then the layers."""
    w = width
    layer = [w, w, 3 * w * w, 3 * w, w * w, w, w, w, 4 * w * w, 4 * w, 4 * w * w, w]
    return [4 * size for size in [vocabulary * w, 1024 * w, *layers * layer, w, w]]


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, sizes, servers, part="correct"):
        return Case(title, {"sizes": [int(size) for size in sizes], "servers": servers}, part)

    some = rng.integers(1, 100, size=int(rng.integers(9, 14)))
    many = rng.integers(1, 10_000, size=200)
    # A jump in each case: the largest tensor neither first nor last, so that orders can be told apart.
    return [
        case("sizes 2, 1, 3, 8, 3, 1 on 2 servers", [2, 1, 3, 8, 3, 1], 2),
        case("sizes 4, 5, 6, 7, 8 on 3 servers", [4, 5, 6, 7, 8], 3),
        case(f"{len(some)} parameters on 3 servers", some, 3),
        case("a transformer's 26 tensors on 4 servers", transformer(2, 64, 1000)[:26], 4),
        case("1 server", [3, 1, 2], 1, "edge"),
        case("1 parameter on 3 servers", [7], 3, "edge"),
        case("more servers than parameters", [5, 9], 4, "edge"),
        case("no parameters", [], 2, "edge"),
        case("ties: six equal parameters on 3 servers", [4] * 6, 3, "edge"),
        case("parameters without a single number", [0, 6, 0, 2, 3, 0], 2, "edge"),
        case("200 parameters on 8 servers: balance", many, 8, "budget"),
        case("a transformer of 148 tensors on 8 servers: balance", transformer(12, 768, 50_257), 8, "budget"),
    ]


def run(answers, inputs):
    owner = answers[0](list(inputs["sizes"]), inputs["servers"])
    return owner.tolist() if hasattr(owner, "tolist") else owner


def loads_of(sizes, owner, servers):
    """Bytes on each server."""
    loads = [0] * servers
    for size, server in zip(sizes, owner):
        loads[server] += size
    return loads


def greedy(sizes, servers, order):
    """Owners when the parameters in `order` go, one after the other, to the server with the least so far."""
    owner, loads = [0] * len(sizes), [0] * servers
    for index in order:
        server = loads.index(min(loads))
        owner[index], loads[server] = server, loads[server] + sizes[index]
    return owner


def largest_first(sizes, servers):
    """The greedy owners: Graham's longest processing time first (1969), within 4/3 - 1/(3k) of the best."""
    return greedy(sizes, servers, sorted(range(len(sizes)), key=lambda i: -sizes[i]))


def verify(case, output):
    sizes, servers = case.inputs["sizes"], case.inputs["servers"]
    n = len(sizes)
    if output is None:
        raise Wrong(
            "nothing_returned", "What does your function return? A list with a server for each parameter is due."
        )
    if type(output) not in (list, tuple):
        raise Wrong("shape", f"Is that a list of server numbers? Your function returned {short(repr(output))}.")
    if any(type(entry) in (list, tuple) for entry in output):
        raise Wrong(
            "list_of_lists",
            f"A list for each server? Asked for is the other direction: for each parameter its server.\n"
            f"{case.title}: yours {short(list(output))}",
            then=("owner[i] is the number of the server that keeps parameter i.",),
        )
    if len(output) != n or any(type(entry) not in (int, np.int64) for entry in output):
        raise Wrong(
            "length",
            f"{n} parameters: which server keeps each of them?\n{case.title}: yours {short(list(output))}",
            then=(f"The list has {n} whole numbers from 0 to {servers - 1}.",),
        )
    if any(not 0 <= entry < servers for entry in output):
        first = min(output) if min(output) < 0 else max(output)
        raise Wrong(
            "from_one" if first == servers else "no_such_server",
            f"Server {first}? With {servers} server{'s' * (servers > 1)}, which numbers are there?\n"
            f"{case.title}: yours {short(list(output))}",
            then=(f"Servers count from 0 to {servers - 1}.",),
        )
    loads, fair = loads_of(sizes, output, servers), loads_of(sizes, largest_first(sizes, servers), servers)
    if max(loads) > max(fair):
        raise _explain(case, list(output), loads, max(fair))


def _explain(case, owner, loads, fair):
    sizes, servers = case.inputs["sizes"], case.inputs["servers"]
    n = len(sizes)
    index = range(n)
    heaviest = loads.index(max(loads))
    evidence = (
        f"{case.title}: server {heaviest} has {amount(loads[heaviest])}, {loads[heaviest] / fair:.2f} times the "
        f"{amount(fair)} that would do; everybody waits for it"
    )
    by_size = sorted(index, key=lambda i: -sizes[i])
    best = largest_first(sizes, servers)
    ends, total, blocks = 0, sum(sizes) or 1, []
    for size in sizes:
        blocks.append(min(servers - 1, ends * servers // total))
        ends += size
    each = max(1, -(-n // servers))
    bins = loads_of(sizes, greedy(sizes, servers, index), servers)
    slips = (
        ("sorted_order", [best[i] for i in by_size],
         "Balanced, if your list went from the largest parameter to the smallest. Whose place is place 0?",
         "owner[i] belongs to parameter i in the order that you were given.",
         "Sort the indices, not the sizes: for i in sorted(range(len(sizes)), key=lambda i: -sizes[i])."),
        ("round_robin", [i % servers for i in index],
         "In turn, whatever the size. What if the large ones all meet on one server?",
         "Equal numbers of parameters are not equal numbers of bytes.",
         "Keep the bytes of each server, and give the next parameter to the server that has the least."),
        ("round_robin_sorted", _placed(by_size, [k % servers for k in index]),
         "Sorted, then in turn: server 0 gets the larger one in every turn. Which server should get the next one?",
         "The one that has the fewest bytes so far, not the one whose turn it is."),
        ("by_count", [i // each for i in index],
         "Equal numbers of parameters on every server. Is that what travels over its link?",
         "Bytes travel, not parameters. Keep the bytes of each server.",
         "loads = [0] * servers; the next parameter goes to loads.index(min(loads))."),
        ("not_sorted", greedy(sizes, servers, index),
         f"Each parameter to the server with the least: good. But a large one that comes late finds "
         f"{amount(min(bins))} everywhere. In which order should they come?",
         "Small ones can fill the gaps that large ones leave, not the other way round.",
         "Begin with the largest."),
        ("smallest_first", greedy(sizes, servers, by_size[::-1]),
         "The largest comes last, when all servers are full already. In which order would gaps still close?",
         "Small ones can fill the gaps that large ones leave.",
         "sorted(..., reverse=True), or the key -sizes[i]."),
        ("smallest_first", greedy(sizes, servers, sorted(index, key=lambda i: sizes[i])),
         "The largest comes last, when all servers are full already. In which order would gaps still close?",
         "Small ones can fill the gaps that large ones leave.",
         "sorted(..., reverse=True), or the key -sizes[i]."),
        ("in_one_piece", blocks,
         "Cut by bytes, but in the order given: a large parameter at a cut goes wholly to one side. Must neighbours stay "
         "together?",
         "Any parameter may go to any server.",
         "Largest first, each to the server that has the least."),
        ("all_on_one", [owner[0]] * n if n else None,
         "All on one server. What do the other links do meanwhile?",
         "Keep the bytes of each server, and give the next parameter to the server that has the least (min, not max)."),
    )  # fmt: skip
    for hint, wrong, question, *then in slips:
        if owner == wrong:
            return Wrong(hint, f"{question}\n{evidence}", _bars(case, loads, fair), then)
    return Wrong(
        "unbalanced",
        f"Which server gets too much, and which parameter would you move?\n{evidence}",
        _bars(case, loads, fair),
        ("Begin with the largest parameter; each goes to the server that has the fewest bytes so far.",),
    )


def _placed(order, owners):
    """`owners` in the order of `order`, put back at the parameters' own places."""
    found = [0] * len(order)
    for place, server in zip(order, owners):
        found[place] = server
    return found


def _bars(case, loads, fair):
    def draw():
        from labs.parameter_server.loads import bars

        return bars({"yours": loads}, fair=fair, name=f"Bytes on each server: {case.title}")

    return draw


def achieved(outcomes):
    """Balance of the real model."""
    case, owner = outcomes[-1]
    loads = loads_of(case.inputs["sizes"], owner, case.inputs["servers"])
    mean = sum(loads) / len(loads)
    return [
        (case.title, f"the fullest server has {amount(max(loads))}, {max(loads) / mean:.2f} times the mean"),
        ("its largest tensor", f"{amount(max(case.inputs['sizes']))}: no assignment of whole tensors goes below that"),
    ]


shard_by_size = Exercise(
    "shard_by_size", "Shard parameters by size", 3, cases, run, verify,
    achieved=achieved,
)  # fmt: skip
