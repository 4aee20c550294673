"""What a kernel does wrong is named: what happened, at which line, in which thread, and what to do."""

import linecache
import threading
import time

import numpy as np
import pytest

from labs.kit.gpu import (
    DivergentBarrier,
    DividedByZero,
    EndlessLoop,
    KernelError,
    KernelFailure,
    KernelHazard,
    LaunchFailed,
    Limits,
    Misaligned,
    OutOfBounds,
    Unsupported,
    WrongType,
    outcome,
    profile,
    virtual_machine,
)
from labs.kit.virtual.cuda import cuda


def zeros(n=64, dtype=np.float32):
    return np.zeros(n, dtype)


def line_of(kernel, offset):
    return kernel.py_func.__code__.co_firstlineno + offset


@cuda.jit
def no_guard(x, o):
    i = cuda.grid(1)
    o[i] = x[i]


@cuda.jit
def looks_behind(x, o):
    i = cuda.grid(1)
    o[i] = x[i - 1]


@cuda.jit
def wrong_corner(a):
    x, y = cuda.grid(2)
    a[x, y] = 1


def test_out_of_bounds_names_thread_line_and_size(watched):
    with watched() as p, pytest.raises(OutOfBounds) as caught:
        no_guard[2, 64](zeros(100), zeros(100))
    text, data = str(caught.value), caught.value.as_data()
    assert "thread (36, 0, 0) of block (1, 0, 0)" in text and "x[100]" in text and "100 elements" in text
    assert f":{line_of(no_guard, 3)}, in no_guard: o[i] = x[i]" in text
    assert data["kind"] == "out_of_bounds" and data["index"] == [100] and data["thread"] == [36, 0, 0]
    assert [finding.kind for finding in p.launches[0].findings] == ["out_of_bounds"]
    assert isinstance(caught.value, IndexError)


def test_out_of_bounds_in_two_dimensions(watched):
    with watched(), pytest.raises(OutOfBounds, match=r"writes a\[4, 0\], but a has shape \(4, 9\)"):
        wrong_corner[(1, 1), (9, 4)](zeros((4, 9)))


def test_a_profile_can_go_on_after_a_fault(watched):
    x, o = np.arange(100, dtype=np.float32), zeros(100)
    with watched(stop=False) as p:
        no_guard[2, 64](x, o)
    assert [(f.kind, f.array) for f in p.findings] == [("out_of_bounds", "x"), ("out_of_bounds", "o")]
    assert np.array_equal(o, x)


def test_a_negative_index_counts_from_the_end_and_is_told(watched):
    x, o = np.arange(64, dtype=np.float32), zeros()
    with watched() as p:
        looks_behind[1, 64](x, o)
    assert [finding.kind for finding in p.findings] == ["negative_index"] and np.array_equal(o, np.roll(x, 1))


@cuda.jit
def one_missing(o):
    s = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    if t < 31:
        s[t] = 1
    cuda.syncthreads()
    o[t] = s[t]


@cuda.jit
def local_missing(o):
    own = cuda.local.array(3, np.int32)
    own[0] = 1
    o[cuda.grid(1)] = own[0] + own[1]


def test_uninitialised_memory(watched):
    with watched() as p:
        one_missing[1, 32](zeros(32))
    (finding,) = p.findings
    assert (finding.kind, finding.array, finding.index, finding.space) == ("uninitialised", "s", (31,), "shared")
    with watched() as p:
        local_missing[1, 32](zeros(32))
    assert [(f.kind, f.array, f.index) for f in p.findings] == [("uninitialised", "own", (1,))]
    fresh, other = cuda.device_array(32, np.float32), cuda.device_array(32, np.float32)
    with watched() as p:
        one_missing[1, 32](fresh)
        no_guard[1, 32](fresh, other)
    assert [finding.kernel for finding in p.findings] == ["one_missing"]  # fresh was written by the first launch
    with watched() as p:
        no_guard[1, 32](cuda.device_array(32, np.float32), other)
    assert [(f.kind, f.array) for f in p.findings] == [("uninitialised", "x")]


@cuda.jit
def some_wait(o):
    if cuda.threadIdx.x < 40:
        cuda.syncthreads()
    o[cuda.threadIdx.x] = 1


@cuda.jit
def two_barriers(o):
    if cuda.threadIdx.x < 32:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    o[cuda.threadIdx.x] = 1


@cuda.jit
def returns_early(o):
    if cuda.threadIdx.x >= 50:
        return
    cuda.syncthreads()
    o[cuda.threadIdx.x] = 1


@cuda.jit
def half_a_shuffle(o):
    t = cuda.threadIdx.x
    if t < 16:
        o[t] = cuda.shfl_down_sync(0xFFFFFFFF, t, 1)


@pytest.mark.parametrize("kernel", [some_wait, two_barriers, returns_early, half_a_shuffle])
def test_divergent_barriers(watched, kernel):
    with watched(), pytest.raises(DivergentBarrier, match=f"in {kernel.__name__}: ") as caught:
        kernel[1, 64](zeros(dtype=np.int32))
    assert "does not" in str(caught.value)
    with watched(stop=False) as p:
        kernel[1, 64](zeros(dtype=np.int32))
    assert "divergent_barrier" in {finding.kind for finding in p.findings}


@cuda.jit
def never_ends(o):
    i = cuda.grid(1)
    while o[i] < 1:
        o[i] += 0


@cuda.jit
def long_range(o):
    for i in range(1 << 40):
        o[cuda.grid(1)] = i


def test_endless_loops_end(watched):
    for kernel in (never_ends, long_range):
        with virtual_machine(limits=Limits(turns=2000)), watched(), pytest.raises(EndlessLoop) as caught:
            kernel[1, 40](zeros())
        assert f"in {kernel.__name__}: " in str(caught.value) and "turned" in str(caught.value)
    with virtual_machine(limits=Limits(seconds=0.2)), watched(), pytest.raises(EndlessLoop, match="still in a loop"):
        long_range[1, 32](zeros())
    failure = outcome(never_ends[1, 32], zeros(), seconds=0.2)["failure"]
    assert failure["kind"] == "time_limit" and "while o[i] < 1:" in failure["places"][0]


def test_ctrl_c_ends_a_kernel(watched, ctrl_c):
    ctrl_c(0.3)
    before = threading.active_count()
    many = Limits(turns=1 << 60)  # so that the interrupt comes first, however late it is
    with virtual_machine(limits=many), watched(), pytest.raises(KeyboardInterrupt) as caught:
        never_ends[1, 64](zeros())
    assert "Interrupted while never_ends ran" in str(caught.value) and "in never_ends: " in str(caught.value)
    assert threading.active_count() <= before  # no warp runs on
    o = zeros()
    no_guard[1, 64](np.ones(64, np.float32), o)  # and the device still works
    assert o.all()


def test_failures_leave_no_threads_behind():
    before = threading.active_count()
    for _ in range(3):
        with profile(warps_take_turns=True), pytest.raises(DivergentBarrier):
            two_barriers[1, 256](zeros(256))
    time.sleep(0.01)
    assert threading.active_count() == before


@cuda.jit
def divides_by_its_number(o):
    i = cuda.grid(1)
    o[i] = 7 // i


@cuda.jit
def guarded_division(o):
    i = cuda.grid(1)
    o[i] = 7 // i if i > 0 else 0


def test_integer_division_by_zero(watched):
    with watched(), pytest.raises(DividedByZero, match=r"thread \(0, 0, 0\) of block \(0, 0, 0\)"):
        divides_by_its_number[1, 32](zeros())
    o = zeros()
    guarded_division[1, 64](o)
    assert np.array_equal(o, [0] + [7 // i for i in range(1, 64)])


@cuda.jit
def wide_copy(x, o):
    i = cuda.grid(1)
    if i < o.size:
        o[i] = x[i]


def test_wide_loads_need_aligned_arrays():
    raw = cuda.to_device(np.arange(80, dtype=np.uint8))
    o = cuda.device_array(4, np.uint64)
    wide_copy[1, 32](raw[8:40].view(np.uint64), o)
    assert np.array_equal(o.copy_to_host().view(np.uint8), np.arange(8, 40))
    with pytest.raises(Misaligned, match="no multiple of 8"):
        wide_copy[1, 32](raw[1:33].view(np.uint64), o)


# ---- what a kernel cannot say

REFUSED = {
    "a list": ("v = [1, 2]", "cuda.local.array"),
    "a list comprehension": ("v = (k for k in range(3))", "range"),
    "try": ("try:\n        o[i] = 1\n    except ValueError:\n        pass", "`if`"),
    "with": ("with open('x'):\n        pass", "outside"),
    "assert": ("assert i > 0", "print"),
    "import": ("import math", "above the kernel"),
    "a function inside a kernel": ("def inner():\n        pass", "device=True"),
    "lambda": ("f = lambda: 3", "device=True"),
    "an f-string": ("print(f'{i}')", "print(a, b)"),
    "`is` and `in`": ("o[i] = i is 3", "=="),
    "while ... else": ("while i < 0:\n        i += 1\n    else:\n        i = 3", "variable"),
    "an assignment to a slice": ("o[0:3] = 1", "loop"),
    "numpy's sqrt": ("o[i] = np.sqrt(i)", "math.sqrt"),
    "a plain Python function": ("o[i] = plain(i)", "device=True"),
    "range outside": ("r = range(3)", "loop"),
}


def kernel_from(body, **names):
    """A kernel whose text is known to linecache only, as that of a notebook's cell."""
    file = f"<ipython-input-{abs(hash(body))}>"
    source = f"def kernel(o):\n    i = cuda.grid(1)\n    {body}\n"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"cuda": cuda, "np": np, "plain": zeros} | names
    exec(compile(source, file, "exec"), scope)
    return cuda.jit(scope["kernel"])


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_offered_is_refused_with_line_and_alternative(what):
    body, instead = REFUSED[what]
    with pytest.raises(Unsupported) as caught:
        kernel_from(body)[1, 32](zeros())
    text = str(caught.value)
    assert "at line 3 of your cell, in kernel: " in text and instead in text.partition("Instead: ")[2]
    if what not in ("a list comprehension", "range outside"):
        assert what in text


MISUSED = {
    "o[i / 2] = 1": "indexed with a float64",
    "o[i, 0] = 1": "1 dimension",
    "o[i] = o": "one number",
    "o[i] = o + 1": "whole array o",
    "a, b = o": "cannot be unpacked",
    "if o:\n        pass": "a condition in a kernel is a number",
    "for k in range(1.5):\n        pass": "whole numbers",
    "o[i] = cuda.shfl_sync(0xffffffff, np.float16(1), 0)": "float16",
    "cuda.syncthreads_count(i > 3)": r"int\(",
    "s = cuda.shared.array(i, np.float32)": "bound above the kernel",
    "s = cuda.shared.array(3, 'text')": "element type",
    "i[0] = 1": "an element of",
    "o[i] = cuda.fp16.hadd(np.float32(1), np.float32(2))": "takes float16",
}


@pytest.mark.parametrize("body", MISUSED)
def test_wrong_types_name_the_line(body):
    with pytest.raises((WrongType, Unsupported), match=MISUSED[body]) as caught:
        kernel_from(body)[1, 32](zeros())
    assert "at line 3 of your cell, in kernel: " in str(caught.value)


def test_pythons_own_errors_name_the_line():
    for body, kind in [("o[i] = missing", "NameError"), ("o[i] = np.nothing", "AttributeError")]:
        with pytest.raises(KernelError, match=kind) as caught:
            kernel_from(body)[1, 32](zeros())
        assert "at line 3 of your cell, in kernel: " in str(caught.value) and caught.value.exception == kind
    with pytest.raises(KernelError, match="v is used here, but no thread has given it a value"):
        kernel_from("if i < 0:\n        v = 1\n    o[i] = v + 1")[1, 32](zeros())


def test_an_unsolved_kernel_stays_unsolved():
    kernel = kernel_from("raise NotImplementedError()  # your code here")
    with pytest.raises(NotImplementedError):
        kernel[1, 32](zeros())
    with pytest.raises(NotImplementedError):
        outcome(kernel[1, 32], zeros())


def test_a_kernel_without_its_text_says_so():
    scope = {"cuda": cuda}
    exec("def kernel(o):\n    o[0] = 1\n", scope)
    with pytest.raises(Unsupported, match="text of kernel cannot be found"):
        cuda.jit(scope["kernel"])[1, 1](zeros())


def test_launches_that_cannot_be():
    good = zeros(), zeros()
    for launch, error, text in [
        (lambda: no_guard(*good), LaunchFailed, "launch configuration was not specified"),
        (lambda: no_guard[1](*good), LaunchFailed, "at least the griddim and blockdim"),
        (lambda: no_guard[0, 32](*good), LaunchFailed, "nothing to launch"),
        (lambda: no_guard[1, 2048](*good), LaunchFailed, "most is 1,024"),
        (lambda: no_guard[1, (64, 64)](*good), LaunchFailed, "4096 threads"),
        (lambda: no_guard[64 / 32, 32](*good), WrongType, "use //"),
        (lambda: no_guard[1, 32](zeros()), WrongType, r"no_guard\(x, o\) was launched with 1"),
        (lambda: no_guard[1, 32]([1.0], zeros()), WrongType, "is a list"),
        (lambda: no_guard[1, 32](np.array(["a"]), zeros()), WrongType, "not <U1"),
        (lambda: no_guard[1, 32](np.zeros(3, complex), zeros()), WrongType, "not complex128"),
        (lambda: cuda.threadIdx.x, LaunchFailed, "only inside a kernel"),
        (lambda: cuda.syncthreads(), LaunchFailed, "only inside a kernel"),
        (lambda: cuda.device_array(1 << 40, np.uint8), LaunchFailed, "out of memory"),
        (lambda: cuda.select_device(7), LaunchFailed, "this machine has 2"),
        (lambda: cuda.cg, AttributeError, "the virtual device has no cuda.cg"),
    ]:
        with pytest.raises(error, match=text):
            launch()
    assert issubclass(LaunchFailed, ValueError) and issubclass(WrongType, TypeError)  # the classes that Numba uses


def test_too_much_shared_memory():
    kernel = kernel_from("s = cuda.shared.array(20000, np.float32)")
    with pytest.raises(LaunchFailed, match="80,000 bytes"):
        kernel[1, 32](zeros())


def test_what_a_notebook_shows_is_the_explanation():
    with pytest.raises(KernelFailure) as caught:
        no_guard[2, 64](zeros(100), zeros(100))
    shown = "\n".join(caught.value._render_traceback_())
    assert shown.startswith("OutOfBounds: thread (36, 0, 0)") and "labs/kit" not in shown


def test_hazards_are_warnings_when_nobody_profiles():
    with pytest.warns(KernelHazard, match="nobody has written"):
        one_missing[1, 32](zeros(32))


def test_print_goes_thread_by_thread(capsys):
    kernel_from("if i % 10 == 3:\n        print(i, 'has', o[i])")[1, 32](zeros())
    assert capsys.readouterr().out == "".join(f"{i} has 0.0\n" for i in (3, 13, 23))
