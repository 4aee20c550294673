"""Words for what an answer ran into: the limits of its sandbox."""

MB = 1 << 20
_SIGNS = {
    "memory": ("MemoryError", "bad_alloc", "allocate memory", "OUT_OF_MEMORY"),
    "processes": ("can't start new thread", "Resource temporarily unavailable"),
    "open_files": ("Too many open files",),
    "file": ("File too large",),
    "disk": ("No space left on device", "Disk quota exceeded"),
    "network": ("Network is unreachable", "Temporary failure in name resolution", "Name or service not known"),
}
HARMLESS = {"network", "file"}
"""Limits at which nothing has been used up that the next exercise needs."""


def met(text, spec):
    """The limit that a message of Python, of C++ or of the system tells of.

    Parameters
    ----------
    text : str
        Type and message of an error. Untrusted: whoever forges it is told of a limit, and no more.
    spec : dict
        As for `jail.enter`.

    Returns
    -------
    tuple of str, or None
        The limit's name, and what the code did, in words after "it".
    """
    limits = spec["limits"]
    words = {
        "memory": f"asked for more memory than there is here ({spec['memory'] // MB} MB)",
        "processes": f"started more than {limits.get('NPROC', spec['processes'])} processes and threads",
        "open_files": f"opened more than {limits['NOFILE']} files at the same time",
        "file": f"wrote a file of more than {limits['FSIZE'] // MB} MB",
        "disk": f"wrote more than {spec['disk'] // MB} MB or {spec['files_at_most']} files",
        "network": "asked for the network, which there is none of while answers are graded",
    }
    return next(((name, words[name]) for name, signs in _SIGNS.items() if any(sign in text for sign in signs)), None)
