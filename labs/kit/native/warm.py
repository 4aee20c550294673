"""Build what all cells share while the learner still reads."""

from __future__ import annotations

import os
import threading


def warm_up() -> threading.Thread | None:
    """Begin in the background, unless it is all there; failures stay silent, the first cell tells them.

    Returns
    -------
    threading.Thread or None
        None in a grader's sandbox, which is given these parts and must not spend its time on them.
    """
    if os.environ.get("LABS_CACHE_READ"):
        return None
    thread = threading.Thread(target=_work, name="labs-native-warm-up", daemon=True)
    thread.start()
    return thread


def _work():
    from labs.kit.native.binding import prepare
    from labs.kit.native.failures import NativeError

    try:
        prepare()
    except (NativeError, OSError):
        pass
