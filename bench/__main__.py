"""``python -m bench [NAME ...] [--quick]``: measure, print tables, write build/bench.json."""

# Processes that torch.multiprocessing.spawn starts import this file again, so nothing is imported here for nothing.
if __name__ == "__main__":
    import sys

    from bench.command import main

    sys.exit(main())
