"""The same file under `python`, under torchrun, and on two emulated nodes with a network between them."""

import os
import shutil
import subprocess
import sys
import uuid

import pytest

# A script as a learner writes it: without the guard `if __name__ == "__main__"`.
PROGRAM = """
import os
import torch
from labs.kit.ranks import RankFailed, run

OFFSET = 1

def program(tensor, dist):
    dist.all_reduce(tensor)
    return dist.get_rank(), dist.get_world_size(), tensor.item()

size = None if "RANK" in os.environ else 2
for factor in (1, 10):
    done = run(program, size, lambda rank: (torch.tensor([factor * (rank + OFFSET)]),), on="gloo")
    text = f"{os.environ.get('RANK', 'all')} {done.results}\\n"
    os.write(1, text.encode())  # in one piece: several processes write here

def fails(dist):
    return missing

if size:
    try:
        run(fails, size, on="gloo")
    except RankFailed as failure:
        print(failure)
"""
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def output(command, **options):
    environment = dict(os.environ, OMP_NUM_THREADS="1", **options.pop("environment", {}))
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, env=environment, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.splitlines())


def test_one_file_under_torchrun_and_under_python(program):
    two = output([*TORCHRUN, "--standalone", "--nproc-per-node", "2", program])
    assert two == [
        "0 ((0, 2, 3), None)",
        "0 ((0, 2, 30), None)",
        "1 (None, (1, 2, 3))",
        "1 (None, (1, 2, 30))",
    ]
    assert output([sys.executable, program]) == [
        "  at program.py:19, in fails: return missing",
        "Rank 0 raised an exception: NameError: name 'missing' is not defined",
        "all ((0, 2, 3), (1, 2, 3))",
        "all ((0, 2, 30), (1, 2, 30))",
    ]


def test_a_world_of_another_size_is_refused(monkeypatch):
    from labs.kit import ranks

    for name, value in {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ranks.Misuse, match="rank 1 of 4, but the program asks for 2 ranks"):
        ranks.run(lambda dist: None, 2, on="gloo")
    assert ranks.run(lambda dist: dist.get_rank(), 2).results == (0, 1), "virtual ranks need no launcher"


def sh(*command):
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def two_nodes():
    """Two network namespaces joined by a bridge; names are unique, and everything is removed whatever happens."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("two emulated nodes need root and the command `ip` (package iproute2)")
    tag = uuid.uuid4().hex[:6]
    bridge, spaces, wires = f"lb{tag}", [f"ln{tag}{i}" for i in (0, 1)], [f"lv{tag}{i}" for i in (0, 1)]
    try:
        steps = [("link", "add", bridge, "type", "bridge"), ("link", "set", bridge, "up")]
        for i, (space, wire) in enumerate(zip(spaces, wires, strict=True)):
            steps += [
                ("netns", "add", space),
                ("link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", space),
                ("link", "set", wire, "master", bridge, "up"),
                ("-n", space, "addr", "add", f"10.77.0.{i + 1}/24", "dev", "eth0"),
                ("-n", space, "link", "set", "eth0", "up"),
                ("-n", space, "link", "set", "lo", "up"),
            ]
        for step in steps:
            done = sh("ip", *step)
            if done.returncode:
                pytest.skip(f"two emulated nodes need network namespaces: ip {' '.join(step)}: {done.stderr.strip()}")
        yield spaces
    finally:
        for space in spaces:
            sh("ip", "netns", "del", space)
        for wire in wires:
            sh("ip", "link", "del", wire)
        sh("ip", "link", "del", bridge)


def test_two_nodes(program, two_nodes):
    environment = dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="eth0", TP_SOCKET_IFNAME="eth0")
    processes = []
    try:
        for node, space in enumerate(two_nodes):
            command = ["ip", "netns", "exec", space, *TORCHRUN, "--nnodes=2", f"--node-rank={node}"]
            command += ["--nproc-per-node=1", "--master-addr=10.77.0.1", "--master-port=29600", str(program)]
            processes.append(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
            )
        printed = [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [process.returncode for process in processes] == [0, 0], printed
    assert "0 ((0, 2, 3), None)" in printed[0] and "0 ((0, 2, 30), None)" in printed[0]
    assert "1 (None, (1, 2, 3))" in printed[1] and "1 (None, (1, 2, 30))" in printed[1]
