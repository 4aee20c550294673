"""Each way in which C++ can end badly costs the call and nothing else, and is told with function, cause and line."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import psutil
import pytest

from labs.kit.native import Crashed, NativeError, TooSlow
from labs.kit.native.crash import UNHARMED
from labs.kit.native.function import _workshop
from labs.kit.native.memory import shared
from labs.kit.native.process import Child, Children

CELL = r"""
double element(lab::Vector<const double> values, long at) {
    return values.data()[at];
}
int null_pointer() {
    int* volatile p = nullptr;
    return *p;
}
int divide(int a, int b) {
    return a / b;
}
int deep(int n) {
    volatile char room[512];
    room[0] = char(n);
    return deep(n + 1) + room[0];
}
void give_up() {
    std::abort();
}
void leave() { std::exit(7); }
void leave_in_thread();
void forever() {
    printf("before the loop");
    volatile bool on = true;
    while (on) {
    }
}
void overwrite(lab::Vector<const double> values) {
    const_cast<double*>(values.data())[0] = 1;
}
int fine(int n) { return n; }
void uncaught() noexcept { throw std::runtime_error("nobody catches this"); }
void wild() {
    volatile long p = 0x123456789000;
    *(int*)p = 1;
}
__attribute__((noinline)) int helper(int* p) { return *p; }
int in_helper() {
    int* volatile p = nullptr;
    return helper(p) + 1;
}
void raise_kill() { raise(SIGKILL); }
""".replace("void leave_in_thread();\n", "")
NAMES = "element null_pointer divide deep give_up leave forever overwrite fine uncaught wild in_helper raise_kill"


def line_of(text):
    return next(n for n, line in enumerate(CELL.split("\n"), 1) if text in line)


@pytest.fixture
def cell(bind):
    return bind(NAMES, "#include <csignal>" + CELL)


ENDINGS = {
    "null_pointer": ((), "null", "null pointer", "return *p;"),
    "divide": ((1, 0), "division", "divided an integer by zero", "return a / b;"),
    "deep": ((1,), "stack", "filled its stack", "room[0] = char(n);"),
    "give_up": ((), "abort", "called abort", "std::abort();"),
    "leave": ((), "exit", "exit status 7", None),
    "uncaught": ((), "abort", "an exception that nobody caught", "void uncaught"),
    "wild": ((), "wild", "0x123456789000, where there is no memory", "*(int*)p = 1;"),
    "in_helper": ((), "null", "null pointer", "int helper(int* p)"),
    "raise_kill": ((), "killed", "killed from outside", None),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_end_is_told_with_function_cause_and_line(cell, name):
    args, kind, words, at = ENDINGS[name]
    with pytest.raises(Crashed) as caught:
        getattr(cell, name)(*args)
    error = caught.value
    assert str(error).startswith(f"{name}() ") and words in str(error) and UNHARMED in str(error)
    assert (error.kind, error.function) == (kind, name)
    if at and sys.platform == "linux":
        assert error.line in (line_of(at), line_of(at) + 1) and f"line {error.line} of your cell" in str(error)
    assert cell.fine(3) == 3


@pytest.mark.parametrize(("at", "n"), [(3, 3), (0, 0), (4096, 4096), (513, 513)])
def test_the_first_element_behind_an_array_is_out_of_bounds(cell, at, n):
    with pytest.raises(Crashed, match=rf"read element {at} of values, which has {n} elements") as caught:
        cell.element(np.ones(n), at)
    assert (caught.value.kind, caught.value.line) == ("out_of_bounds", line_of("return values.data()[at];"))
    assert n == 0 or cell.element(np.ones(n), n - 1) == 1.0


def test_the_element_before_an_array_of_whole_pages_is_out_of_bounds(cell):
    with pytest.raises(Crashed, match="read element -1 of values"):
        cell.element(np.ones(512), -1)


def test_shared_arrays_have_bounds_too(cell):
    with pytest.raises(Crashed, match="read element 5 of values, which has 5 elements"):
        cell.element(shared(np.ones(5)), 5)


def test_writing_to_what_may_only_be_read_is_told(cell):
    values = np.zeros(3)
    cell.overwrite(values)
    assert values[0] == 0  # a const parameter is never copied back
    values.flags.writeable = False
    with pytest.raises(Crashed, match="wrote to values, an array that may only be read"):
        cell.overwrite(values)


def test_an_endless_loop_ends_with_its_line_and_its_output(cell, capfd):
    began = time.monotonic()
    with pytest.raises(TooSlow, match=r"did not return within 0\.3 s") as caught:
        cell.forever.with_options(timeout=0.3)()
    assert time.monotonic() - began < 20  # it ended at all
    assert isinstance(caught.value, TimeoutError) and caught.value.kind == "timeout"
    assert line_of("while (on)") <= caught.value.line <= line_of("while (on)") + 1
    assert capfd.readouterr().out == "before the loop"
    assert cell.fine(1) == 1


def test_what_is_printed_appears_in_order(bind, capfd):
    cell = bind(
        "talk flood",
        r"""int talk() { printf("one "); std::cout << "two "; fprintf(stderr, "three\n"); printf("four\n"); return 1; }
void flood(int lines) { for (int i = 0; i < lines; i++) printf("%099d\n", i); }""",
    )
    assert cell.talk() == 1
    out, err = capfd.readouterr()
    assert sorted(out.split()) == ["four", "one", "three", "two"] and err == ""
    cell.flood(5000)
    out = capfd.readouterr().out
    assert len(out) < 300_000 and "what follows is not shown" in out
    cell.flood(1)
    assert capfd.readouterr().out == f"{'0' * 99}\n"


def test_what_was_printed_before_a_crash_is_not_lost(bind, capfd):
    cell = bind("f", r'int f() { printf("line\n"); printf("no newline"); int* volatile p = nullptr; return *p; }')
    with pytest.raises(Crashed):
        cell.f()
    assert capfd.readouterr().out == "line\nno newline"


def test_variables_and_arrays_outlive_a_crash(cell, bind):
    made = bind("made", "auto made(int n) { return lab::zeros<double>(n); }").made(1 << 18)
    kept = shared(np.arange(4.0))
    with pytest.raises(Crashed):
        cell.give_up()
    made += 1
    assert made.sum() == 1 << 18 and kept.sum() == 6.0
    assert cell.element(kept, 3) == 3.0


def test_a_crash_while_the_cell_is_loaded_is_told(bind):
    with pytest.raises(Crashed, match="constructor") as caught:
        bind("f", "struct S {\n  S() { std::abort(); }\n} s;\nint f() { return 1; }")
    assert caught.value.line == 2


def test_globals_live_until_a_crash(bind):
    cell = bind("count crash", "int n = 0;\nint count() { return ++n; }\nvoid crash() { std::abort(); }")
    first = cell.count()
    assert cell.count() == first + 1
    with pytest.raises(Crashed):
        cell.crash()
    assert cell.count() == 1


def test_an_interrupt_ends_the_call_and_the_next_one_works(cell, ctrl_c):
    ctrl_c(0.5)
    with pytest.raises(KeyboardInterrupt):
        cell.forever.with_options(timeout=30)()
    assert cell.fine(2) == 2


CHECKED = r"""
int heap(int n) {
    std::vector<int> v(n);
    return v.data()[n];
}
int stack(int n) {
    int a[4] = {1, 2, 3, 4};
    return a[n];
}
int freed(int n) {
    int* p = new int(n);
    delete p;
    return *p;
}
int overflow(int n) {
    int big = 2147483647;
    return big + n;
}
void add(lab::Vector<double> a, int n) {
    for (int i = 0; i < n; i++) a.data()[i] += 1;
}
"""
WRONG = {
    "heap": ("read 4 bytes outside an array or vector", "return v.data()[n];"),
    "stack": ("out of bounds for type 'int [4]'", "return a[n];"),
    "freed": ("read 4 bytes in memory that had been freed", "return *p;"),
    "overflow": ("signed integer overflow", "return big + n;"),
}


@pytest.fixture
def checked(bind):
    if sys.platform != "linux":
        pytest.skip("--check needs Linux")
    try:
        return bind("--check heap stack freed overflow add", CHECKED)
    except NativeError as error:
        pytest.skip(f"no sanitizer here: {error}")


@pytest.mark.parametrize("name", WRONG)
def test_a_checked_cell_names_the_first_bad_access(checked, name, capfd):
    words, at = WRONG[name]
    with pytest.raises(Crashed) as caught:
        getattr(checked, name)(4)
    assert words in str(caught.value)
    assert CHECKED.split("\n")[caught.value.line - 1].strip() == at
    assert "Sanitizer" not in capfd.readouterr().out


def test_a_checked_cell_works_and_watches_arguments(checked):
    values = np.zeros(5)
    checked.add(values, 5)
    np.testing.assert_array_equal(values, np.ones(5))
    with pytest.raises(Crashed, match="read 8 bytes outside") as caught:
        checked.add(values, 6)
    assert "a.data()[i] += 1" in CHECKED.split("\n")[caught.value.line - 1]


def children():
    return [p for p in psutil.Process().children(recursive=True) if "labs.kit.native.child" in " ".join(p.cmdline())]


def test_the_child_is_one_and_warm(cell):
    cell.fine(1)
    before = {p.pid for p in children()}
    for n in range(5):
        cell.fine(n)
    assert {p.pid for p in children()} == before


def test_closing_ends_the_child(shared_parts, gone):
    child = Child()
    child.close()
    child.close()
    assert gone(child.process.pid)
    assert not child.running


@pytest.mark.parametrize("busy", [False, True])
def test_the_child_ends_with_its_parent(shared_parts, tmp_path, busy, gone):
    program = textwrap.dedent(f"""
        import os, sys, threading, time
        from labs.kit.native.magic import run_cell
        from labs.kit.native.function import _workshop
        f = run_cell("f", "void f(bool b) {{ volatile bool on = b; while (on) {{}} }}")["f"]
        f(False)
        print(_workshop().children.get(False).process.pid, flush=True)
        if {busy}:
            threading.Thread(target=f.with_options(timeout=100), args=(True,)).start()
            time.sleep(0.5)
        os.kill(os.getpid(), 9)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    pid = int(done.stdout)
    until = time.monotonic() + 30
    while not gone(pid):
        assert time.monotonic() < until, "the child outlived its parent"
        time.sleep(0.05)


def test_a_forked_process_starts_a_child_of_its_own(cell):
    cell.fine(1)
    mine = _workshop().children.get(False).process.pid
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        answer = f"{cell.fine(5)} {_workshop().children.get(False).process.pid}"
        _workshop().children.close()
        os.write(write, answer.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    result, theirs = os.read(read, 100).split()
    assert result == b"5" and int(theirs) != mine
    assert cell.fine(6) == 6
    os.close(read)
    os.close(write)


def test_calls_from_threads_do_not_mix(cell):
    results = {}
    work = lambda n: results.update({n: [cell.fine(n * 100 + i) for i in range(20)]})
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: [n * 100 + i for i in range(20)] for n in range(4)}


def test_closing_all_is_harmless(shared_parts):
    some = Children()
    some.get(False)
    some.close()
    some.close()
    assert some.get(False).running
    some.close()
