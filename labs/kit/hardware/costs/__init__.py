"""What collectives cost in the alpha-beta model: one pure function an algorithm, seconds out.

Symbols in the formulas: n ranks (``world_size``), S bytes (``nbytes``), alpha seconds a message (``latency``), B bytes
per second in each direction of each rank's link (``bandwidth``), L = ceil(log2 n).

What all functions assume, unless their docstring says otherwise: the network of `labs.kit.hardware.uniform`, on which
only the ranks' own links limit; full duplex, a rank sends at B while it receives at B; adding numbers costs nothing;
S divides evenly into chunks; nobody else uses the network. One rank costs nothing.
"""

from labs.kit.hardware.costs.all_reduce import (
    collector_all_reduce,
    double_tree_all_reduce,
    halving_doubling_all_reduce,
    hierarchical_all_reduce,
    lower_bound_all_reduce,
    mesh_all_reduce,
    ring_all_reduce,
    tree_all_reduce,
)
from labs.kit.hardware.costs.bus import bus_bandwidth, bus_factor
from labs.kit.hardware.costs.collectives import (
    all_gather,
    all_to_all,
    double_tree_broadcast,
    gather,
    reduce_scatter,
    scatter,
    tree_broadcast,
    tree_reduce,
)
from labs.kit.hardware.costs.compare import (
    ring_double_tree_crossover,
    ring_tree_crossover,
    two_paths_bytes,
    two_paths_threshold,
    two_paths_time,
)
from labs.kit.hardware.costs.parameter_server import (
    parameter_server,
    parameter_server_colocated,
    parameter_server_spare_machines,
    spare_machines_worker_share,
)

__all__ = [
    "all_gather",
    "all_to_all",
    "bus_bandwidth",
    "bus_factor",
    "collector_all_reduce",
    "double_tree_all_reduce",
    "double_tree_broadcast",
    "gather",
    "halving_doubling_all_reduce",
    "hierarchical_all_reduce",
    "lower_bound_all_reduce",
    "mesh_all_reduce",
    "parameter_server",
    "parameter_server_colocated",
    "parameter_server_spare_machines",
    "reduce_scatter",
    "ring_all_reduce",
    "ring_double_tree_crossover",
    "ring_tree_crossover",
    "scatter",
    "spare_machines_worker_share",
    "tree_all_reduce",
    "tree_broadcast",
    "tree_reduce",
    "two_paths_bytes",
    "two_paths_threshold",
    "two_paths_time",
]
