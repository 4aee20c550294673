"""Traps between ranks: a firewall, names that lead elsewhere, an interface that is not there.

Sources: PyTorch, "Distributed communication package", "Common environment variables" (GLOO_SOCKET_IFNAME,
NCCL_SOCKET_IFNAME), pull request pytorch/pytorch 26166 (gloo listens at the address of the host's name, and falls back
to the loopback), torchrun (without ``--local-addr`` the host's full name); NVIDIA, NCCL User Guide, "Environment
Variables" (NCCL_SOCKET_IFNAME is a list of prefixes, ``=`` means exactly, ``^`` all but). The course's own runs use
127.0.0.1 and the loopback interface, whatever the host is called.
"""

from __future__ import annotations

from labs.course.doctor.facts import Facts
from labs.course.doctor.finding import BLOCKS, COSTS, NOTE, trap

SLOW_NAME = 2.0  # s
_OWN = "torchrun and groups that you start yourself wait for that name; the course's own runs do not use it."
_HOSTS = '`echo "127.0.0.1 $(hostname)" | sudo tee -a /etc/hosts`'


@trap(
    "loopback-blocked", BLOCKS, "A firewall inside this machine",
    sign='on="gloo" and torchrun wait until their time is up; JupyterLab may not connect to its kernels',
    costs="Real ranks cannot reach each other. Virtual ranks still work.",
    cure="Allow connections to 127.0.0.1: in the firewall or VPN program an exception for this Python; on Linux "
    "`sudo iptables -I INPUT -i lo -j ACCEPT`; in a container without a network: `ip link set lo up`",
)  # fmt: skip
def loopback_blocked(facts: Facts):
    if facts.network.loopback_fault:
        return f"A connection from this process to itself through 127.0.0.1 failed: {facts.network.loopback_fault}."


@trap(
    "localhost-elsewhere", BLOCKS, "localhost does not mean this machine",
    sign="JupyterLab's page does not open, torchrun does not find its ranks",
    costs="Whatever asks for localhost waits in vain: JupyterLab, and torchrun --standalone.",
    cure='`echo "127.0.0.1 localhost" | sudo tee -a /etc/hosts`',
)  # fmt: skip
def localhost_elsewhere(facts: Facts):
    addresses = facts.network.localhost
    if addresses is None or any(address.startswith("127.") or address == "::1" for address in addresses):
        return None
    return f"localhost is {', '.join(addresses)}." if addresses else "The name localhost has no address."


@trap(
    "host-name-unknown", NOTE, "This machine does not know its own name",
    sign='"Unable to resolve hostname to a (local) address", or torchrun hangs at its start',
    costs=_OWN, cure=f"{_HOSTS}, or for one run: `GLOO_SOCKET_IFNAME=lo torchrun --local-addr=127.0.0.1 ...`",
)  # fmt: skip
def host_name_unknown(facts: Facts):
    if facts.network.host_addresses == ():
        return f"The name {facts.network.host!r} has no address."


@trap(
    "host-name-elsewhere", NOTE, "This machine's name leads elsewhere",
    sign='"client socket has timed out", often after a VPN was started, or on macOS in another network',
    costs=_OWN, cure=f"{_HOSTS}, or for one run: `GLOO_SOCKET_IFNAME=lo torchrun --local-addr=127.0.0.1 ...`",
)  # fmt: skip
def host_name_elsewhere(facts: Facts):
    network = facts.network
    if network.host_addresses and network.host_reachable is False:
        return f"{network.host} is {', '.join(network.host_addresses)}, and no interface here has that address."


@trap(
    "slow-names", NOTE, "Looking up this machine's name takes long",
    sign="torchrun and some imports take seconds before anything happens",
    costs=_OWN, cure=_HOSTS,
)  # fmt: skip
def slow_names(facts: Facts):
    seconds = facts.network.host_seconds
    if seconds is not None and seconds > SLOW_NAME:
        return f"Looking up {facts.network.host!r} took more than {SLOW_NAME:g} s."


@trap(
    "gloo-interface", COSTS, "GLOO_SOCKET_IFNAME names no interface",
    sign='"Unable to find address for: eth0"',
    costs="torchrun and groups of gloo that you start yourself fail; the course's own runs set it to the loopback.",
    cure="`unset GLOO_SOCKET_IFNAME`, or name one of: `ip -br link`",
)  # fmt: skip
def gloo_interface(facts: Facts):
    network = facts.network
    wanted = [name.strip() for name in (network.gloo_interface or "").split(",") if name.strip()]
    wrong = [name for name in wanted if network.interfaces and name not in network.interfaces]
    if wrong:
        return f"GLOO_SOCKET_IFNAME={network.gloo_interface}; the interfaces here are {', '.join(network.interfaces)}."


@trap(
    "nccl-interface", COSTS, "NCCL_SOCKET_IFNAME fits no interface",
    sign='"Bootstrap : no socket interface found"',
    costs='on="nccl" fails at its start.',
    cure="`unset NCCL_SOCKET_IFNAME`, or name one of: `ip -br link`",
)  # fmt: skip
def nccl_interface(facts: Facts):
    network = facts.network
    wanted = (network.nccl_interface or "").strip()
    if wanted and network.interfaces and not nccl_interfaces(wanted, network.interfaces):
        return f"NCCL_SOCKET_IFNAME={wanted}; the interfaces here are {', '.join(network.interfaces)}."


def nccl_interfaces(wanted: str, interfaces: tuple[str, ...]) -> tuple[str, ...]:
    """The interfaces that NCCL would choose from: prefixes, ``=`` exactly, ``^`` all but these."""
    without = wanted.startswith("^")
    names = wanted.lstrip("^")
    exactly = names.startswith("=")
    listed = [name.strip() for name in names.lstrip("=").split(",") if name.strip()]

    def fits(interface):
        return any(interface == name if exactly else interface.startswith(name) for name in listed)

    return tuple(interface for interface in interfaces if fits(interface) != without)


@trap(
    "ranks-fail", BLOCKS, "Two real ranks do not come together",
    sign='run(..., on="gloo") fails',
    costs="Cells that measure on real ranks fail. Virtual ranks, and so every exercise, still work.",
    cure="Look first at other findings here (firewall, memory, PyTorch). Else ask for help with the output of: "
    "`python -m labs doctor --verbose`",
)  # fmt: skip
def ranks_fail(facts: Facts):
    network, torch = facts.network, facts.torch
    if torch.stalled == "ranks":
        return "Two gloo ranks were asked to add 1 and 1, and gave no answer within a minute."
    if network.ranks_fault and not torch.import_fault:
        return f"Two gloo ranks were asked to add 1 and 1: {' '.join(network.ranks_fault.split())[:300]}"


TRAPS = (
    loopback_blocked, localhost_elsewhere, host_name_unknown, host_name_elsewhere, slow_names, gloo_interface,
    nccl_interface, ranks_fail,
)  # fmt: skip
