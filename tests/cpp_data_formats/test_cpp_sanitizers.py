"""The readers under the address, leak and undefined-behaviour sanitizers, and, in a soak, coverage-guided fuzzing.

LABS_SOAK=1 fuzzes each reader for LABS_FUZZ_SECONDS (default 600). The HDF5 library itself is not instrumented: for
HDF5 the fuzzer is guided by our own code only, and a crash of the library in its child counts as a refusal.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import cpp_sanitized

SOAK = os.environ.get("LABS_SOAK") == "1"
SECONDS = int(os.environ.get("LABS_FUZZ_SECONDS", "600"))
CHOICES = {"csv": (0, 1, 12, 28, 72), "json": (0, 1, 3), "image": (-1,), "hdf5": (-1,)}


@pytest.mark.parametrize("reader", ["csv", "image", "json", "hdf5"])
def test_the_shipped_files_touch_no_foreign_memory_and_leak_none(reader, tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ here")
    if reader in ("json", "hdf5") and not SOAK:
        pytest.skip("compiling this reader with sanitizers takes long; LABS_SOAK=1 runs it")
    flags = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
    program = cpp_sanitized.build(reader, tmp_path / "program", compiler, *flags, driver=True)
    if isinstance(program, str):
        pytest.skip(program)
    files = cpp_sanitized.seeds(reader)
    for choice in CHOICES[reader]:
        done = subprocess.run(
            [program, str(choice), *map(str, files)],
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0 and done.stdout == f"{len(files)} files\n", done.stderr[-3000:]


@pytest.mark.skipif(not SOAK, reason="fuzzing takes minutes; LABS_SOAK=1 runs it")
@pytest.mark.parametrize("reader", ["csv", "json", "image", "hdf5"])
def test_fuzzing_finds_nothing(reader, tmp_path):
    compiler = cpp_sanitized.clang()
    if compiler is None:
        pytest.skip("no clang++ with libFuzzer here: install Debian's package clang")
    flags = ("-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined")
    program = cpp_sanitized.build(reader, tmp_path / "program", compiler, *flags, driver=False)
    if isinstance(program, str):
        pytest.skip(program)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for path in cpp_sanitized.seeds(reader):
        for choice in CHOICES[reader]:
            front = bytes([choice]) if choice >= 0 else b""
            (corpus / f"{path.name}-{choice}").write_bytes(front + path.read_bytes())
    if reader == "hdf5":
        cpp_sanitized.more_hdf5(corpus)
    limits = (f"-max_total_time={SECONDS}", "-timeout=60", "-rss_limit_mb=4096", "-max_len=16384", "-seed=21")
    done = subprocess.run([program, *limits, f"-artifact_prefix={tmp_path}/", corpus], capture_output=True, text=True)
    print(done.stderr[-400:])
    assert done.returncode == 0, done.stderr[-4000:]
