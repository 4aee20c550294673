"""What tests of several rooms share: a Chromium, for one file at a time, a look at processes, hypothesis's settings."""

import gc
import importlib.util
import os
import shutil
import signal
import threading

import pytest

# A shell starts what runs behind it (`make test &`) deaf to Ctrl-C, and every child would be: some tests send one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if importlib.util.find_spec("hypothesis"):  # a machine that only runs the GPU tests may lack it
    from hypothesis import settings

    # Everywhere the same examples, and no limit on time, which is noisy; `make soak` draws new and more ones.
    settings.register_profile("course", derandomize=True, deadline=None)
    settings.register_profile("soak", deadline=None, max_examples=1000)
    settings.load_profile("soak" if os.environ.get("LABS_SOAK") == "1" else "course")

CHROMIUM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@pytest.fixture(scope="session")
def gone():
    """gone(pid): whether a process has ended, or only waits for its parent to take note of that."""
    import psutil

    def ended(pid):
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:  # also when it ends while one asks
            return True

    return ended


@pytest.fixture
def ctrl_c():
    """ctrl_c(seconds): press Ctrl-C in so many seconds.

    Garbage is collected first. Python shows an interrupt that comes during a collection to the first code that runs
    then; where that is the callback of a weak reference, as old threads have, the interrupt is lost.
    """
    timers = []

    def press(seconds):
        gc.collect()
        timers.append(threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGINT]))
        timers[-1].start()

    yield press
    for timer in timers:
        timer.join()


@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by Playwright, whose event loop would disturb the notebooks that other files execute."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here: install Debian's package chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()
