"""The microscope: PTX, SASS and GCN of a kernel beside its source, with counts, on machines with or without a GPU.

`machine_code(kernel, "sm_80")` compiles in a child process and returns a `Listing`; "does this use tensor cores?" is
answered by `listing.count("HMMA")`. `compare` puts several listings into a table. `targets()` says for which GPUs this
machine can compile, and `look` shows a sentence where the compiler is missing.
"""

from .classes import KINDS
from .comparison import compare
from .devices import available, targets
from .failures import CompileFailed, InspectError, MissingPackage, NotInspectable
from .listing import Listing
from .microscope import look, machine_code
from .parse import Instruction

__all__ = [
    "KINDS",
    "CompileFailed",
    "InspectError",
    "Instruction",
    "Listing",
    "MissingPackage",
    "NotInspectable",
    "available",
    "compare",
    "look",
    "machine_code",
    "targets",
]
