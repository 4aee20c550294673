"""The child process: one for many launches, gone with its parent, unharmed by interrupts, threads and forks."""

import os
import runpy
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from labs.kit.gpu.cplusplus import compile_cuda
from labs.kit.gpu.cplusplus.building import worker_program
from labs.kit.gpu.cplusplus.child import NURSERY

SOURCE = runpy.run_path(str(Path(__file__).parent / "cuda_cpp_sources.py"))
ENDLESS = "__global__ void k(volatile float* a) { while (a[0] == 0) ; }"


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


def start(program, **environment):
    root = str(Path(__file__).parents[3])
    env = os.environ | {"PYTHONPATH": root, "PYTHONUNBUFFERED": "1"} | environment
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def wait_until(condition, seconds=20.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def test_launches_share_one_child_until_one_fails():
    kernel = compile_cuda("__global__ void k(float* a, int i) { a[i] = 1; }")
    a = np.zeros(4, "f")
    kernel[1, 1](a, 0)
    first = NURSERY.child().process.pid
    kernel[1, 1](a, 1)
    assert NURSERY.child().process.pid == first
    with pytest.raises(IndexError):
        kernel[1, 1](a, 4)
    kernel[1, 1](a, 2)
    assert NURSERY.child().process.pid != first and a.tolist() == [1, 1, 1, 0]
    assert not psutil.pid_exists(first)


@pytest.mark.parametrize("launching", [True, False], ids=["in a kernel", "idle"])
def test_the_child_dies_with_its_parent(launching, gone):
    program = f"""
    import numpy as np
    from labs.kit.gpu.cplusplus import compile_cuda
    from labs.kit.gpu.cplusplus.child import NURSERY
    kernel = compile_cuda({ENDLESS!r}, timeout=60.0)
    print(NURSERY.child().process.pid)
    {"kernel[1, 1](np.zeros(1, 'f'))" if launching else "import time; time.sleep(60)"}
    """
    parent = start(program)
    child = psutil.Process(int(parent.stdout.readline()))
    if launching:
        wait_until(lambda: child.cpu_times().user > 0.05)
    parent.kill()
    parent.communicate()
    wait_until(lambda: gone(child.pid))


def test_nothing_is_left_when_python_ends():
    program = """
    import numpy as np
    from labs.kit.gpu.cplusplus import compile_cuda
    from labs.kit.gpu.cplusplus.child import NURSERY
    compile_cuda("__global__ void k() {}")[1, 1]()
    print(NURSERY.child().process.pid)
    """
    parent = start(program)
    out, err = parent.communicate(timeout=60)
    assert parent.returncode == 0 and not err
    assert not psutil.pid_exists(int(out))


def test_an_interrupt_ends_the_kernel_and_not_python(ctrl_c):
    kernel = compile_cuda(ENDLESS)
    a = np.zeros(1, "f")
    NURSERY.child()
    ctrl_c(0.3)
    with pytest.raises(KeyboardInterrupt):
        kernel[1, 1](a)
    assert not NURSERY._child.alive
    compile_cuda("__global__ void k(float* a) { a[0] = 1; }")[1, 1](a)
    assert a[0] == 1


def test_threads_take_turns():
    kernel = compile_cuda(SOURCE["ADD"])
    outputs = [np.zeros(1000, "f") for _ in range(4)]

    def work(out, number):
        for _ in range(20):
            kernel[4, 256](np.full(1000, number, "f"), out.copy(), out, 1000)

    threads = [threading.Thread(target=work, args=(out, i)) for i, out in enumerate(outputs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [out.tolist() == [20.0 * i] * 1000 for i, out in enumerate(outputs)] == [True] * 4
    compile_cuda("__global__ void k() {}")[1, 1]()  # the thread that started the child has gone


def test_a_fork_has_a_child_of_its_own():
    kernel = compile_cuda(SOURCE["ADD"])
    a, out = np.ones(8, "f"), np.zeros(8, "f")
    kernel[1, 32](a, a, out, 8)
    mine = NURSERY.child().process.pid
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            kernel[1, 32](a, a, out, 8)
            os.write(write, f"{NURSERY.child().process.pid} {out.sum():.0f}".encode())
            NURSERY.close()
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    theirs, total = os.read(read, 100).split()
    os.close(read)
    assert int(theirs) != mine and total == b"16"
    kernel[1, 32](a, a, out, 8)
    assert NURSERY.child().process.pid == mine


def test_two_processes_build_the_same_at_once(tmp_path):
    text = f"{SOURCE['REDUCE']}// built by nobody before: {tmp_path} {time.time()}"
    program = f"""
    import numpy as np
    from labs.kit.gpu.cplusplus import compile_cuda
    x, out = np.arange(1000, dtype="f"), np.zeros(1, "f")
    compile_cuda({text!r})[4, 256](x, out, 1000)
    print(out[0])
    """
    there = str(worker_program().parents[1])  # so that only the kernel is left to build
    both = [start(program, LABS_CACHE=str(tmp_path), LABS_CACHE_READ=there) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, float(out), err) == (0, 499500.0, "")
    assert len(list(tmp_path.rglob("cuda-*"))) == 1 and not list(tmp_path.rglob("building-*"))
