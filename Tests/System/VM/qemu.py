# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""One process of QEMU: from its start to the end of its power."""

import json
import os
import socket
import subprocess
import threading
import time


class Broken(Exception):
    """There is no machine: QEMU, its image or the disk of the host is at fault, not timerd."""


class Qemu:
    """Started with the paths of its files in `folder`, which a later process uses again."""

    def __init__(self, folder, kernel, initrd, disks, rtc=None, words="", memory=768):
        self.folder = folder
        for name in ("qmp", "agent"):
            if os.path.exists(f"{folder}/{name}"):
                os.unlink(f"{folder}/{name}")
        command = [
            "qemu-system-x86_64",
            "-accel",
            "tcg,thread=multi",
            "-machine",
            "pc",
            "-m",
            str(memory),
            "-smp",
            "2",
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-kernel",
            kernel,
            "-initrd",
            initrd,
            "-append",
            f"console=ttyS0 no_timer_check loglevel=7 systemd.getty_auto=0 systemd.show_status=false {words}",
            "-chardev",
            f"file,id=console,path={folder}/console,append=on",
            "-serial",
            "chardev:console",
            "-chardev",
            f"socket,id=qmp,path={folder}/qmp,server=on,wait=off",
            "-mon",
            "chardev=qmp,mode=control",
            "-device",
            "virtio-serial-pci",
        ]
        for name in ("stamps", "journal"):
            command += [
                "-chardev",
                f"file,id={name},path={folder}/{name},append=on",
                "-device",
                f"virtconsole,chardev={name}",
            ]
        command += [
            "-chardev",
            f"socket,id=agent,path={folder}/agent,server=on,wait=off",
            "-device",
            "virtserialport,chardev=agent,name=agent",
        ]
        for number, disk in enumerate(disks):
            # What the guest has not flushed can be in the memory of QEMU, as in that of a disk.
            command += [
                "-drive",
                f"file={disk},if=none,id=disk{number},format=qcow2,cache=writeback",
                "-device",
                f"virtio-blk-pci,drive=disk{number}",
            ]
        if rtc:
            command += ["-rtc", f"base={rtc}"]
        self.errors = open(f"{folder}/qemu", "ab")
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        except FileNotFoundError:
            raise Broken("no qemu-system-x86_64; apt-get install qemu-system-x86") from None
        self.events = []
        self.changed = threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        """Collects the events of QEMU, as QMP sends them."""
        peer = socket.socket(socket.AF_UNIX)
        while True:
            try:
                peer.connect(f"{self.folder}/qmp")
                break
            except OSError:
                if self.process.poll() is not None:
                    return
                time.sleep(0.05)
        try:
            with peer, peer.makefile("rw") as lines:
                lines.write('{"execute": "qmp_capabilities"}\n')
                lines.flush()
                for line in lines:
                    event = json.loads(line)
                    if "event" in event:
                        with self.changed:
                            self.events.append(event)
                            self.changed.notify_all()
        except (OSError, ValueError):
            pass  # it was killed in the middle of a line

    def count(self, name):
        with self.changed:
            return sum(event["event"] == name for event in self.events)

    def complain(self):
        """Raises if QEMU itself has failed."""
        if self.process.poll() not in (None, 0, -9):
            with open(f"{self.folder}/qemu", encoding="utf-8", errors="replace") as file:
                raise Broken(
                    f"QEMU ended with status {self.process.returncode}: {file.read().strip()[-500:]}; "
                    "if a part of the machine is missing, remove .build/vm to make it again"
                )
        with self.changed:
            errors = [event["data"] for event in self.events if event["event"] == "BLOCK_IO_ERROR"]
        if errors:
            raise Broken(
                f"the machine cannot write its disk ({errors[0].get('reason')}); "
                f"free some of the disk that has {self.folder}"
            )

    def cut(self):
        """The power is gone."""
        self.process.kill()
        self.process.wait()
        self.errors.close()

    @property
    def is_on(self):
        return self.process.poll() is None
