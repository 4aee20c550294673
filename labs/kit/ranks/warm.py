"""Start the server of real ranks ahead of its first use, or end it early."""

from __future__ import annotations


def warm() -> None:
    """Begin to start the warm server and return at once; the first run on real ranks then waits less."""
    from labs.kit.ranks.server import keeper

    keeper.warm()


def cool() -> None:
    """End the warm server, and any rank of it. It ends with this process anyway; the next run starts another."""
    from labs.kit.ranks.server import keeper

    keeper.stop()
