"""Reading `nvidia-smi topo -m`: layouts of several drivers, wires that follow from them, and what is wrong where."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.kit.hardware import Device, TopoFormatError, parse_topo, parse_topo_matrix, reference_machine

LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_bond_1
"""

# In the layout of recent drivers: tabs, colour codes in the header, doubled tabs before the last column.
PAIR = (
    "\t\x1b[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV4\t0-15,32-47\t0\t\tN/A\n"
    "GPU1\tNV4\t X \t16-31,48-63\t1\t\tN/A\n" + LEGEND
)

BOX = (
    """$ nvidia-smi topo -m
        GPU0    GPU1    GPU2    GPU3    NIC0    NIC1    CPU Affinity    NUMA Affinity
GPU0     X      PIX     SYS     SYS     PXB     SYS     0-31    0
GPU1    PIX      X      SYS     SYS     PXB     SYS     0-31    0
GPU2    SYS     SYS      X      PHB     SYS     NODE    32-63   1
GPU3    SYS     SYS     PHB      X      SYS     NODE    32-63   1
NIC0    PXB     PXB     SYS     SYS      X      SYS
NIC1    SYS     SYS     NODE    NODE    SYS      X
"""
    + LEGEND
)

# A mesh of cubes as on the first DGX: two NVLinks to some, one to others, none to the rest; SOC is the old name of SYS.
CUBE_ROWS = ("X NV1 NV1 NV2 NV2 SOC SOC SOC", "NV1 X NV2 NV1 SOC NV2 SOC SOC", "NV1 NV2 X NV2 SOC SOC NV1 SOC",
             "NV2 NV1 NV2 X SOC SOC SOC NV1", "NV2 SOC SOC SOC X NV1 NV1 NV2", "SOC NV2 SOC SOC NV1 X NV2 NV1",
             "SOC SOC NV1 SOC NV1 NV2 X NV2", "SOC SOC SOC NV1 NV2 NV1 NV2 X")  # fmt: skip


def table(rows):
    names = [f"GPU{i}" for i in range(len(rows))]
    return "\n".join(["  " + "  ".join([*names, "CPU Affinity"]), *(f"{n} {row} 0-7" for n, row in zip(names, rows))])


def switch_rows(count, links):
    return [" ".join("X" if i == j else f"NV{links}" for j in range(count)) for i in range(count)]


def test_a_pair_with_all_columns():
    matrix = parse_topo_matrix(PAIR)
    assert matrix.names == matrix.gpus == ("GPU0", "GPU1")
    assert matrix.relations == reference_machine().relations
    assert matrix.cpu_affinity == {"GPU0": "0-15,32-47", "GPU1": "16-31,48-63"}
    assert matrix.numa_affinity == {"GPU0": 0, "GPU1": 1}
    assert matrix.models == {"NIC0": "mlx5_0", "NIC1": "mlx5_bond_1"}


def test_network_cards_and_numa_nodes():
    matrix = parse_topo_matrix(BOX)
    assert matrix.gpus == ("GPU0", "GPU1", "GPU2", "GPU3")
    assert matrix.names[4:] == ("NIC0", "NIC1")
    assert matrix.relation("NIC1", "GPU3") == "NODE"
    assert matrix.numa_affinity == {"GPU0": 0, "GPU1": 0, "GPU2": 1, "GPU3": 1}


def test_the_wires_of_a_pair():
    pair = parse_topo(PAIR, nvlink_bandwidth=14.0625e9, device=Device("", flops=27.8e12))
    assert pair.route(0, 1).bandwidth == reference_machine().nvlink_peak
    assert [device.name for device in pair.devices] == ["GPU0", "GPU1"]
    assert pair.devices[1].flops == 27.8e12


def test_the_wires_of_a_box_without_nvlink():
    box = parse_topo(BOX, pcie_bandwidth=20e9, socket_bandwidth=50e9)

    def wires(src, dst):
        return [link.name for link in box.route(src, dst).links]

    assert wires(0, 1) == ["GPU0 > PCIe switch 0", "PCIe switch 0 > GPU1"]
    assert wires(2, 3) == ["GPU2 > host bridge 0", "host bridge 0 > GPU3"]
    far = set(wires(0, 2)) & set(wires(1, 3))
    assert far and all("GPU" not in name for name in far), "what leaves a group shares the group's uplink"
    assert box.route(0, 1).latency < box.route(0, 2).latency
    assert box.route(0, 2).bandwidth == 20e9
    assert "NIC1" in box.switches, "cards are points of the network, not ranks"


def test_nvlinks_are_cables_unless_there_would_be_too_many():
    cube = parse_topo(table(CUBE_ROWS))
    assert "NVSwitch" not in cube.switches
    assert cube.route(0, 3).bandwidth == 50e9 and cube.route(0, 1).bandwidth == 25e9
    assert [link.kind for link in cube.route(0, 5).links].count("NVLink") == 0, "GPUs do not forward"
    assert parse_topo_matrix(table(CUBE_ROWS)).relation("GPU0", "GPU7") == "SYS"

    four = parse_topo(table(switch_rows(4, 4)))  # 3 neighbours with 4 links each: 12 links, as an A100 has
    assert "NVSwitch" not in four.switches and four.route(0, 3).bandwidth == 100e9

    eight = parse_topo(table(switch_rows(8, 18)))  # 7 x 18 links: no GPU has as many
    assert "NVSwitch" in eight.switches
    assert eight.route(0, 3).bandwidth == eight.route(6, 7).bandwidth == 450e9
    assert {link.name for link in eight.route(0, 1).links} & {link.name for link in eight.route(0, 2).links}


def test_a_single_gpu():
    alone = parse_topo("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n")
    assert alone.world_size == 1 and alone.links() == ()


def change(line, old, new):
    """BOX with one change in its `line`, counted from 1."""
    lines = BOX.splitlines()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 0, "no header found"),
        ("GPU 0: NVIDIA RTX A5000 (UUID: GPU-1)\n", 1, 0, "no header found"),
        (PAIR.split("\n", 1)[1], 1, 1, "copy the line that names the columns"),
        (change(3, "PIX", "PIY"), 3, 17, "'PIY' in column GPU1 is no relation"),
        (change(3, "PIX", "NV0"), 3, 17, "'NV0' in column GPU1 is no relation"),
        (change(3, " X ", "SYS"), 3, 9, "X stands where a device meets itself"),
        (change(3, "PIX", " X "), 3, 18, "X stands where a device meets itself"),
        (change(4, "PIX", "PXB"), 4, 9, "GPU1 to GPU0 is PXB, but GPU0 to GPU1 is PIX"),
        (change(5, "GPU2", "GPU7"), 5, 1, "a row for 'GPU7', which is no column"),
        (change(5, "GPU2", "GPU1"), 5, 17, "'SYS' in column GPU1 of row GPU1"),
        (change(4, "GPU1", "GPU0"), 4, 9, "'PIX' in column GPU0 of row GPU0"),
        (change(2, "GPU1", "GPU0"), 2, 17, "a second column GPU0"),
        (change(8, "    SYS      X", ""), 8, 37, "the row of NIC1 ends before its column NIC0"),
        (change(2, "CPU Affinity", "CPU-Affinity 7"), 2, 70, "'7' cannot be a column here"),
        ("\n".join(BOX.splitlines()[:6]), 6, 0, "the matrix ends without a row for NIC0, NIC1"),
    ],
)
def test_malformed_text_is_located(text, line, column, message):
    with pytest.raises(TopoFormatError) as caught:
        parse_topo(text)
    error, where = caught.value, f"line {line}, column {column}" if column else f"line {line}"
    assert message in str(error) and str(error).startswith(where)
    assert (error.line, error.column) == (line, column)
    if column:
        shown, mark = str(error).splitlines()[1:]
        assert mark.index("^") - 2 == column - 1 and shown[2:] == text.splitlines()[line - 1].replace("\t", " ")


@given(st.text(alphabet="GPU01NVSXBIYE- \t\n", max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused_in_words(text):
    try:
        parse_topo("\tGPU0\tGPU1\n" + text)
    except TopoFormatError as error:
        assert error.line >= 1


@st.composite
def machines(draw):
    """A symmetric matrix of random relations, as text with random spacing."""
    count = draw(st.integers(1, 6))
    kinds = st.sampled_from(["NV1", "NV2", "PIX", "PXB", "PHB", "NODE", "SYS"])
    cells = [["X"] * count for _ in range(count)]
    for i in range(count):
        for j in range(i):
            cells[i][j] = cells[j][i] = draw(kinds)
    gap = draw(st.sampled_from(["\t", "  ", "      "]))
    return cells, gap.join(["", *(f"GPU{i}" for i in range(count))]) + "\n" + "\n".join(
        gap.join([f"GPU{i}", *row]) for i, row in enumerate(cells)
    )


@given(machines())
@settings(max_examples=100, deadline=None)
def test_any_symmetric_matrix_is_a_connected_machine(case):
    cells, text = case
    assert parse_topo_matrix(text).relations == tuple(map(tuple, cells))
    machine = parse_topo(text)
    for i, row in enumerate(cells):
        for j, relation in enumerate(row):
            route = machine.route(i, j)
            assert route.latency == machine.route(j, i).latency
            assert all(link.kind == "NVLink" for link in route.links) == (relation.startswith("NV") or i == j)
