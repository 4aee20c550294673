"""Read hub/Dockerfile; or write the shell commands that build it inside a bare Debian, where no Docker is at hand.

python3 hub_image.py COURSE ROOT    print a script that does in the folder ROOT what `docker build` would do

Only the instructions that the file uses. Build arguments keep their defaults; a variable of the same name wins.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path


def instructions(path):
    """(NAME, rest of the line) of each instruction, continued lines joined."""
    text = "\n".join(line for line in Path(path).read_text().splitlines() if not line.lstrip().startswith("#"))
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, " ".join(rest.split())


def script(course, root):
    """Shell text; COPY happens from outside, the rest inside the root by the function `inside USER COMMAND`."""
    lines, environment, folder, user = [], [], "/", "root"
    for name, rest in instructions(Path(course) / "hub/Dockerfile"):
        if name == "ARG":
            environment.append(f'export {rest.partition("=")[0]}="${{{rest.replace("=", ":-", 1)}}}"')
        elif name == "WORKDIR":
            folder = rest
        elif name == "USER":
            user = rest
        elif name == "COPY":
            *sources, target = rest.split()
            place = f"{root}/{target.lstrip('/')}" if target.startswith("/") else f"{root}{folder}/{target}"
            if target.endswith("/") or target == "." or len(sources) > 1:
                lines.append(f"mkdir -p {place}")
            else:
                lines.append(f"mkdir -p {Path(place).parent}")
            for source in sources:
                whole = Path(course, source).is_dir()
                lines.append(f"cp -rT {course}/{source} {place}" if whole else f"cp {course}/{source} {place}")
        elif name == "RUN":
            inner = "\n".join([*environment, f"mkdir -p {folder} && cd {folder}", rest])
            lines.append(f"inside root {shlex.quote(inner)}")
        elif name in ("ENTRYPOINT", "CMD"):
            lines.append(f"{name}={shlex.quote(shlex.join(json.loads(rest)))}")
    prepare = "\n".join([*environment, f'cd "{folder}"'])
    return "\n".join([*lines, f"PREPARE={shlex.quote(prepare)}", f"IMAGE_USER={shlex.quote(user)}"])


if __name__ == "__main__":
    print(script(*sys.argv[1:]))
