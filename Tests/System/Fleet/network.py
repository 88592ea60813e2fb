# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""Machines in network namespaces on one bridge, which can be cut off from each other."""

import subprocess

PORT = "eth0"


def sh(*arguments, given=None):
    result = subprocess.run(arguments, input=given, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout


class Network:
    """`size` hosts with the addresses 10.77.0.1 and on. It needs a mount namespace of its own, in which /run/netns is
    empty: the hosts then disappear with the processes in it."""

    def __init__(self, size):
        self.hosts = [f"host{n}" for n in range(1, size + 1)]
        sh("ip", "netns", "add", "switch")
        sh("ip", "-n", "switch", "link", "add", "bridge", "type", "bridge")
        sh("ip", "-n", "switch", "link", "set", "bridge", "up")
        for number, host in enumerate(self.hosts, 1):
            port = f"port{number}"
            sh("ip", "netns", "add", host)
            sh("ip", "link", "add", PORT, "netns", host, "type", "veth", "peer", "name", port, "netns", "switch")
            sh("ip", "-n", "switch", "link", "set", port, "master", "bridge")
            sh("ip", "-n", "switch", "link", "set", port, "up")
            sh("ip", "-n", host, "addr", "add", f"{self.address(host)}/24", "dev", PORT)
            sh("ip", "-n", host, "link", "set", PORT, "up")
            sh("ip", "-n", host, "link", "set", "lo", "up")

    def address(self, host):
        return f"10.77.0.{self.hosts.index(host) + 1}"

    def command(self, host, *arguments):
        """The arguments that run a command on a host."""
        return ["ip", "netns", "exec", host, *arguments]

    def cut(self, host, other=None):
        """Drops all packets of a host, or those that come to it from another one."""
        self.heal(host)
        source = f"ip saddr {self.address(other)} " if other else ""
        chains = [f'chain in {{\n type filter hook input priority 0\n iifname "{PORT}" {source}drop\n }}\n']
        if not other:
            chains.append(f'chain out {{\n type filter hook output priority 0\n oifname "{PORT}" drop\n }}\n')
        rules = "table inet cut {\n" + "".join(chains) + "}\n"
        sh(*self.command(host, "nft", "-f", "-"), given=rules)

    def heal(self, host):
        subprocess.run(self.command(host, "nft", "delete", "table", "inet", "cut"), capture_output=True)
