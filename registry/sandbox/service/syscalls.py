"""System call numbers and the calls that sandboxed code is refused, per architecture.

Numbers: `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h` of Linux.
"""

from dataclasses import dataclass

# The numbers from 424 on are the same on every architecture.
_COMMON = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "statmount": 457,
    "listmount": 458,
    "open_tree_attr": 467,
}

_X86_64 = {
    "ioctl": 16, "shmget": 29, "shmat": 30, "shmctl": 31, "socket": 41, "socketpair": 53,
    "clone": 56, "fork": 57, "vfork": 58, "semget": 64, "semop": 65, "semctl": 66, "msgget": 68,
    "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "fcntl": 72, "ptrace": 101,
    "syslog": 103, "mknod": 133,
    "uselib": 134, "personality": 135, "ustat": 136, "sysfs": 139, "vhangup": 153,
    "modify_ldt": 154, "pivot_root": 155, "_sysctl": 156, "adjtimex": 159, "chroot": 161,
    "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
    "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173,
    "create_module": 174, "init_module": 175, "delete_module": 176, "quotactl": 179,
    "nfsservctl": 180, "lookup_dcookie": 212, "remap_file_pages": 216, "semtimedop": 220,
    "clock_settime": 227, "mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239,
    "mq_open": 240, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
    "inotify_init": 253, "migrate_pages": 256, "mknodat": 259, "unshare": 272, "vmsplice": 278,
    "move_pages": 279, "inotify_init1": 294, "perf_event_open": 298, "fanotify_init": 300,
    "fanotify_mark": 301, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "memfd_create": 319,
    "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
}  # fmt: skip

_AARCH64 = {
    "lookup_dcookie": 18, "fcntl": 25, "inotify_init1": 26, "ioctl": 29, "mknodat": 33,
    "umount2": 39, "mount": 40,
    "pivot_root": 41, "nfsservctl": 42, "chroot": 51, "vhangup": 58, "quotactl": 60,
    "vmsplice": 75, "acct": 89, "personality": 92, "unshare": 97, "kexec_load": 104,
    "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117,
    "reboot": 142, "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "adjtimex": 171,
    "mq_open": 180, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190,
    "semctl": 191, "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196,
    "socket": 198, "socketpair": 199, "add_key": 217, "request_key": 218, "keyctl": 219,
    "clone": 220, "swapon": 224, "swapoff": 225, "remap_file_pages": 234, "mbind": 235,
    "get_mempolicy": 236, "set_mempolicy": 237, "migrate_pages": 238, "move_pages": 239,
    "perf_event_open": 241, "fanotify_init": 262, "fanotify_mark": 263, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270,
    "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "memfd_create": 279, "bpf": 280,
    "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip

# The filter looks at the arguments of these; every other call named here is refused outright.
INSPECTED = frozenset({"clone", "fcntl", "ioctl", "personality", "socket", "socketpair"})

# "There is no such call" makes the C library fall back to an older, filtered one.
ABSENT = frozenset(
    {
        "clone3",
        "io_uring_setup",
        "io_uring_enter",
        "io_uring_register",
        "listmount",
        "memfd_create",
        "pidfd_open",
        "statmount",
    }
)


@dataclass(frozen=True, slots=True)
class Architecture:
    """One machine type: its AUDIT_ARCH value and the numbers of the calls the filter names."""

    audit: int
    numbers: dict[str, int]
    x32: bool = False


ARCHITECTURES = {
    "x86_64": Architecture(audit=0xC000003E, numbers=_X86_64 | _COMMON, x32=True),
    "aarch64": Architecture(audit=0xC00000B7, numbers=_AARCH64 | _COMMON),
}
