"""Look at what ranks need to find one another: a connection within this machine, its names, its interfaces."""

from __future__ import annotations

import socket
import time

from labs.course.doctor.facts import Network
from labs.course.doctor.machine import Machine, bounded

PATIENCE = 1.0  # s; a connection within a machine takes less than a millisecond
NAME_PATIENCE = 4.0  # s; a look-up that takes longer has asked a server that does not answer
_GREETING = b"from one rank to another"


def look_network(machine: Machine) -> Network:
    """Names and connections; nothing leaves this machine except a look-up of its own name."""
    host = socket.gethostname()
    start = time.monotonic()
    addresses, fault = bounded(lambda: addresses_of(host), NAME_PATIENCE)
    seconds = time.monotonic() - start
    return Network(
        loopback_fault=loopback_fault(),
        localhost=bounded(lambda: addresses_of("localhost"), NAME_PATIENCE)[0] or (),
        host=host,
        host_addresses=() if addresses is None and not fault.startswith("no answer") else addresses,
        host_seconds=seconds,
        host_reachable=any(map(can_listen, addresses)) if addresses else None,
        interfaces=interfaces(),
        gloo_interface=machine.environ.get("GLOO_SOCKET_IFNAME"),
        nccl_interface=machine.environ.get("NCCL_SOCKET_IFNAME"),
    )


def addresses_of(name: str) -> tuple[str, ...]:
    """Addresses of a name, each once."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(entry[4][0] for entry in found))


def can_listen(address: str) -> bool:
    """Whether an address belongs to this machine. gloo asks the same of the host's name."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.bind((address, 0))
    except OSError:
        return False
    return True


def loopback_fault() -> str:
    """Why nothing gets through 127.0.0.1; empty when it does. Listens, connects, sends and receives."""
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            listener.settimeout(PATIENCE)
            with socket.create_connection(listener.getsockname(), PATIENCE) as here:
                there, _ = listener.accept()
                with there:
                    there.settimeout(PATIENCE)
                    here.sendall(_GREETING)
                    if there.recv(len(_GREETING)) != _GREETING:
                        return "what was sent did not arrive"
    except TimeoutError:
        return f"no connection within {PATIENCE:g} s"
    except OSError as error:
        return error.strerror or str(error)
    return ""


def interfaces() -> tuple[str, ...]:
    """Names of this machine's network interfaces."""
    try:
        return tuple(name for _, name in socket.if_nameindex())
    except (OSError, AttributeError):
        return ()
