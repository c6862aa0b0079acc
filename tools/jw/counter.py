"""Counts the instructions of a running process with the processor's own counter, where the kernel lets us."""

import ctypes
import os
import platform
import struct

SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}
HARDWARE, INSTRUCTIONS = 0, 1
ATTRIBUTE_SIZE = 64
INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6


class Counter:
    """User-space instructions of a process and of the threads that it starts from now on."""

    def __init__(self, pid: int) -> None:
        """Raises OSError where there is no counter, as in most virtual machines."""
        flags = INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR
        attribute = struct.pack("IIQQQQQ", HARDWARE, ATTRIBUTE_SIZE, INSTRUCTIONS, 0, 0, 0, flags)
        attribute = attribute.ljust(ATTRIBUTE_SIZE, b"\0")
        libc = ctypes.CDLL(None, use_errno=True)
        number = SYSTEM_CALL.get(platform.machine())
        self.file = libc.syscall(number, attribute, pid, -1, -1, 0) if number else -1
        if self.file < 0:
            raise OSError(ctypes.get_errno(), "no instruction counter here")

    def read(self) -> int:
        return int.from_bytes(os.read(self.file, 8), "little")

    def close(self) -> None:
        os.close(self.file)


def available() -> bool:
    try:
        Counter(os.getpid()).close()
    except OSError:
        return False
    return True
