"""Attacks in Python, for a package's tool and for a model's code. Runs inside the sandbox alone.

An attack gets what a witness on the host tells it (addresses, paths, process ids). It succeeds
when it returns something: that is what must never happen. Raising means that it was refused.
"""

import contextlib
import ctypes
import errno
import gc
import itertools
import json
import mmap
import os
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

ATTACKS = {}
LIBC = ctypes.CDLL(None, use_errno=True)
MB = 1 << 20

# Numbers of system calls on x86_64 and aarch64.
NUMBERS = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "pidfd_open": (434, 434),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "io_uring_setup": (425, 425),
    "memfd_create": (319, 279),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "clone3": (435, 435),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "settimeofday": (164, 170),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "personality": (135, 92),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "fsopen": (430, 430),
    "move_mount": (429, 429),
    "execveat": (322, 281),
}


def attack(family):
    """Put a function into the table of attacks."""

    def add(function):
        ATTACKS[function.__name__] = (family, function)
        return function

    return add


def system_call(name, *arguments):
    """Make a system call; return None when it is refused."""
    number = NUMBERS[name][os.uname().machine == "aarch64"]
    result = LIBC.syscall(ctypes.c_long(number), *arguments)
    return f"{name} gave {result}" if result >= 0 else None


def attempt(name: str, witness: dict) -> dict:
    """Try one attack: `{escaped, refused}`."""
    try:
        return {"escaped": ATTACKS[name][1](witness), "refused": ""}
    except Exception as error:
        return {"escaped": None, "refused": f"{type(error).__name__}: {error}"[:300]}


def names() -> dict:
    """Return attack → family."""
    return {name: family for name, (family, _) in ATTACKS.items()}


def honest(value: object) -> dict:
    """Return what an honest call may see: its arguments, no secret, an untouched runtime."""
    return {
        "value": value,
        "secret": os.environ.get("SECRET"),
        "left": sorted(os.listdir("/tmp")),
        "patched": getattr(sys, "patched", None),
        "json": json.dumps(json.loads('{"a":1}')),
    }


def text(path):
    """Return some of a file."""
    return Path(path).read_text(errors="replace")[:200] or "(empty)"


def wrote(path):
    """Write into a file."""
    Path(path).write_text("evil")
    return f"wrote {path}"


# Files


@attack("files")
def read_shadow(w):
    return text("/etc/shadow")


@attack("files")
def read_canary(w):
    return text(w["canary"])


@attack("files")
def read_canary_through_root(w):
    return text(f"/proc/self/root{w['canary']}")


@attack("files")
def read_canary_through_init(w):
    return text(f"/proc/1/root{w['canary']}")


@attack("files")
def read_canary_through_symlink(w):
    os.symlink(w["canary"], "/tmp/link")
    return text("/tmp/link")


@attack("files")
def read_canary_through_hard_link(w):
    os.link(w["canary"], "/tmp/hard")
    return text("/tmp/hard")


@attack("files")
def read_canary_by_dots(w):
    return text(f"/tmp/../../..{w['canary']}")


@attack("files")
def read_canary_by_handle(w):
    return system_call("open_by_handle_at", -100, ctypes.create_string_buffer(32), 0)


@attack("files")
def read_canary_after_leaving_root(w):
    os.chroot("/tmp")
    for _ in range(20):
        os.chdir("..")
    os.chroot(".")
    return text(w["canary"])


@attack("files")
def read_own_environment_file(w):
    return text("/proc/self/environ")


@attack("files")
def read_init_environment(w):
    return text("/proc/1/environ")


@attack("files")
def read_victim_environment(w):
    return text(f"/proc/{w['victim']}/environ")


@attack("files")
def read_victim_command(w):
    return text(f"/proc/{w['victim']}/cmdline")


@attack("files")
def read_victim_memory(w):
    return text(f"/proc/{w['victim']}/mem")


@attack("files")
def list_processes(w):
    return next((name for name in os.listdir("/proc") if name.isdigit()), None)


@attack("files")
def list_host_folders(w):
    return next((name for name in os.listdir("/") if name in ("home", "root", "var", "work")), None)


@attack("files")
def read_kernel_keys(w):
    return text("/proc/keys")


@attack("files")
def read_kernel_settings(w):
    return text("/proc/sys/kernel/hostname")


@attack("files")
def read_kernel_files(w):
    return ",".join(os.listdir("/sys"))


@attack("files")
def read_inherited_descriptors(w):
    for number in range(3, 256):
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.fstat(number).st_mode):
                content = os.pread(number, 4096, 0)
                if b"canary" in content:
                    return content.decode()
            if stat.S_ISDIR(os.fstat(number).st_mode):
                return f"a folder at {number}"
    return None


@attack("files")
def read_store(w):
    return ",".join(os.listdir(w["store"]))


@attack("files")
def read_service_folder(w):
    return ",".join(os.listdir(w["folder"]))


@attack("files")
def read_memory_device(w):
    return text("/dev/mem")


@attack("files")
def read_disk(w):
    return text("/dev/sda")


@attack("files")
def read_kernel_log(w):
    return text("/dev/kmsg")


@attack("files")
def open_terminal(w):
    return os.open("/dev/tty", os.O_RDWR)


@attack("files")
def push_into_terminal(w):
    import fcntl

    for number in range(8):
        with contextlib.suppress(OSError):
            fcntl.ioctl(number, 0x5412, b"x")
            return f"pushed into {number}"
    return None


@attack("files")
def write_canary(w):
    return wrote(w["canary"])


@attack("files")
def write_package(w):
    return wrote("/pkg/evil.py")


@attack("files")
def write_over_every_module(w):
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and not path.startswith("/tmp"):
            with contextlib.suppress(OSError), open(path, "ab") as file:
                file.write(b"evil")
                return f"wrote {path}"
    return None


@attack("files")
def write_guest(w):
    return wrote("/rt/evil.py")


@attack("files")
def write_runtime(w):
    return wrote(os.path.join(os.path.dirname(os.__file__), "evil.py"))


@attack("files")
def replace_interpreter(w):
    os.rename(sys.executable, "/tmp/python")
    return "renamed"


@attack("files")
def make_package_writable(w):
    os.chmod("/pkg", 0o777)
    return "changed"


@attack("files")
def write_compiled_module(w):
    os.makedirs("/pkg/__pycache__", exist_ok=True)
    return wrote("/pkg/__pycache__/evil.pyc")


@attack("files")
def write_hosts(w):
    return wrote("/etc/hosts")


@attack("files")
def write_kernel_setting(w):
    return wrote("/proc/sys/kernel/core_pattern")


@attack("files")
def write_root(w):
    return wrote("/evil")


@attack("files")
def write_shared_memory(w):
    return wrote("/dev/shm/evil")


@attack("files")
def make_device(w):
    os.mknod("/tmp/mem", 0o666 | stat.S_IFCHR, os.makedev(1, 1))
    return text("/tmp/mem")


@attack("files")
def make_file_of_root(w):
    os.chown("/tmp", 0, 0)
    return "changed"


@attack("files")
def make_program_of_root(w):
    Path("/tmp/evil").write_text("x")
    os.chmod("/tmp/evil", 0o4755)
    return "root" if os.stat("/tmp/evil").st_uid == 0 else None


# Network


@attack("network")
def connect_host(w):
    socket.create_connection(("127.0.0.1", w["port"]), 1)
    return "connected"


@attack("network")
def connect_host_by_name(w):
    socket.create_connection(("localhost", w["port"]), 1)
    return "connected"


@attack("network")
def connect_any_address(w):
    socket.create_connection(("0.0.0.0", w["port"]), 1)
    return "connected"


@attack("network")
def connect_host_by_ipv6(w):
    socket.create_connection(("::1", w["port"]), 1)
    return "connected"


@attack("network")
def connect_mapped_address(w):
    socket.create_connection(("::ffff:127.0.0.1", w["port"]), 1)
    return "connected"


@attack("network")
def connect_metadata(w):
    socket.create_connection(("169.254.169.254", 80), 1)
    return "connected"


@attack("network")
def connect_by_system_call(w):
    number = LIBC.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    return f"socket {number}" if number >= 0 else None


@attack("network")
def fetch_host(w):
    from urllib.request import urlopen

    return urlopen(f"http://127.0.0.1:{w['port']}/", timeout=1).status


@attack("network")
def fetch_with_host_proxy(w):
    from urllib.request import ProxyHandler, build_opener

    opener = build_opener(ProxyHandler({"http": f"http://127.0.0.1:{w['port']}"}))
    return opener.open("http://example.com/", timeout=1).status


@attack("network")
def fetch_file_address(w):
    from urllib.request import urlopen

    return urlopen(f"file://{w['canary']}").read().decode()


@attack("network")
def send_datagram(w):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        return sender.sendto(b"x", ("127.0.0.1", w["udp"]))


@attack("network")
def resolve_name(w):
    return socket.gethostbyname("example.com")


@attack("network")
def resolve_by_datagram(w):
    query = b"\0\1\1\0\0\1\0\0\0\0\0\0\6secret\7example\3com\0\0\1\0\1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(1)
        sender.sendto(query, ("127.0.0.53", 53))
        return sender.recv(512).hex()


@attack("network")
def connect_unix_socket(w):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(w["unix"])
    return "connected"


@attack("network")
def connect_abstract_socket(w):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"\0{w['abstract']}")
    return "connected"


@attack("network")
def connect_service(w):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(w["socket"])
    return "connected"


@attack("network")
def connect_virtual_machine(w):
    with socket.socket(40, socket.SOCK_STREAM) as client:
        client.connect((2, 1024))
    return "connected"


@attack("network")
def open_virtual_machine_socket(w):
    return socket.socket(40, socket.SOCK_STREAM).fileno()


@attack("network")
def open_raw_socket(w):
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).fileno()


@attack("network")
def open_packet_socket(w):
    return socket.socket(17, socket.SOCK_RAW, 0x0300).fileno()


@attack("network")
def open_netlink_socket(w):
    return socket.socket(16, socket.SOCK_RAW, 0).fileno()


@attack("network")
def open_bluetooth_socket(w):
    return socket.socket(31, socket.SOCK_RAW, 1).fileno()


@attack("network")
def open_crypto_socket(w):
    return socket.socket(38, socket.SOCK_SEQPACKET, 0).fileno()


@attack("network")
def listen_to_all(w):
    server = socket.create_server(("0.0.0.0", 18_080))
    return server.getsockname()[1]


@attack("network")
def listen_on_ipv6(w):
    server = socket.create_server(("::", 18_081), family=socket.AF_INET6)
    return server.getsockname()[1]


# Processes and rights


@attack("processes")
def fork(w):
    child = os.fork()
    if child == 0:
        os._exit(0)
    return f"child {child}"


@attack("processes")
def fork_by_system_call(w):
    number = 57 if os.uname().machine == "x86_64" else 220
    result = LIBC.syscall(ctypes.c_long(number), 17, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    return f"child {result}" if result > 0 else None


@attack("processes")
def clone_by_new_system_call(w):
    buffer = ctypes.create_string_buffer(struct.pack("=11Q", 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0))
    result = LIBC.syscall(ctypes.c_long(435), buffer, ctypes.c_size_t(88))
    if result == 0:
        os._exit(0)
    return f"child {result}" if result > 0 else None


@attack("processes")
def start_program(w):
    return subprocess.run([sys.executable, "-V"], capture_output=True).stdout.decode()


@attack("processes")
def start_shell(w):
    return os.popen("id").read() or None


@attack("processes")
def spawn_program(w):
    return os.posix_spawn(sys.executable, [sys.executable, "-V"], {})


@attack("processes")
def use_process_pool(w):
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1) as pool:
        return pool.submit(os.getpid).result(timeout=2)


@attack("processes")
def kill_victim(w):
    os.kill(w["victim"], signal.SIGKILL)
    return "killed"


@attack("processes")
def signal_victim(w):
    os.kill(w["victim"], 0)
    return "seen"


@attack("processes")
def open_victim(w):
    return system_call("pidfd_open", w["victim"], 0)


@attack("processes")
def trace_victim(w):
    return system_call("ptrace", 16, w["victim"], 0, 0)


@attack("processes")
def trace_init(w):
    return system_call("ptrace", 16, 1, 0, 0)


@attack("processes")
def read_victim_by_system_call(w):
    return system_call("process_vm_readv", w["victim"], 0, 0, 0, 0, 0)


@attack("processes")
def change_priority_of_victim(w):
    os.setpriority(os.PRIO_PROCESS, w["victim"], 19)
    return "changed"


@attack("processes")
def become_root(w):
    os.setuid(0)
    return "root"


@attack("processes")
def become_group_of_root(w):
    os.setgroups([0])
    return "root"


@attack("processes")
def gain_capability(w):
    header = struct.pack("=Ii", 0x20080522, 0)
    data = struct.pack("=6I", *[0xFFFFFFFF] * 6)
    number = 126 if os.uname().machine == "x86_64" else 91
    result = LIBC.syscall(ctypes.c_long(number), header, data)
    return "gained" if result == 0 else None


@attack("processes")
def raise_limits(w):
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (hard + 100, hard + 100))
    return f"{soft} to {hard + 100}"


@attack("processes")
def raise_memory_limit(w):
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard * 4, hard * 4))
    return "raised"


@attack("processes")
def use_real_time_scheduling(w):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    return "real time"


@attack("processes")
def lock_memory(w):
    block = mmap.mmap(-1, 16 * MB)
    address = ctypes.addressof(ctypes.c_char.from_buffer(block))
    return "locked" if LIBC.mlock(ctypes.c_void_p(address), 16 * MB) == 0 else None


@attack("processes")
def allow_core_dumps(w):
    resource.setrlimit(resource.RLIMIT_CORE, (MB, MB))
    return "allowed"


def _namespace(flag):
    return system_call("unshare", flag)


@attack("processes")
def make_user_namespace(w):
    return _namespace(0x10000000)


@attack("processes")
def make_mount_namespace(w):
    return _namespace(0x00020000)


@attack("processes")
def make_network_namespace(w):
    return _namespace(0x40000000)


@attack("processes")
def make_time_namespace(w):
    return _namespace(0x00000080)


@attack("processes")
def enter_namespace(w):
    return system_call("setns", 0, 0x40000000)


@attack("processes")
def clone_into_namespace(w):
    result = LIBC.syscall(ctypes.c_long(56), 0x10000000 | 17, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    return f"child {result}" if result > 0 and os.uname().machine == "x86_64" else None


@attack("processes")
def mount_memory(w):
    return system_call("mount", b"none", b"/tmp", b"tmpfs", 0, 0)


@attack("processes")
def mount_processes(w):
    return system_call("mount", b"proc", b"/tmp", b"proc", 0, 0)


@attack("processes")
def remount_root(w):
    return system_call("mount", b"none", b"/", b"", 0x20 | 0x1000, 0)


@attack("processes")
def unmount(w):
    return system_call("umount2", b"/pkg", 2)


@attack("processes")
def mount_by_new_system_call(w):
    return system_call("fsopen", b"tmpfs", 0)


@attack("processes")
def change_root_mount(w):
    return system_call("pivot_root", b"/tmp", b"/tmp")


@attack("processes")
def load_kernel_program(w):
    return system_call("bpf", 5, ctypes.create_string_buffer(128), 128)


@attack("processes")
def measure_performance(w):
    return system_call("perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1, 0)


@attack("processes")
def handle_page_faults(w):
    return system_call("userfaultfd", 0)


@attack("processes")
def use_io_ring(w):
    return system_call("io_uring_setup", 8, ctypes.create_string_buffer(128))


@attack("processes")
def add_kernel_key(w):
    return system_call("add_key", b"user", b"evil", b"x", 1, -3)


@attack("processes")
def read_kernel_key(w):
    return system_call("keyctl", 6, -3, 0, 0, 0)


@attack("processes")
def make_memory_file(w):
    return system_call("memfd_create", b"evil", 0)


@attack("processes")
def make_shared_segment(w):
    return system_call("shmget", 1234, 4096, 0o1600)


@attack("processes")
def make_message_queue(w):
    return system_call("msgget", 1234, 0o1600)


@attack("processes")
def load_module(w):
    return system_call("init_module", b"x", 1, b"")


@attack("processes")
def replace_kernel(w):
    return system_call("kexec_load", 0, 0, 0, 0)


@attack("processes")
def restart_machine(w):
    return system_call("reboot", 0xFEE1DEAD, 672274793, 0, 0)


@attack("processes")
def set_clock(w):
    time.clock_settime(time.CLOCK_REALTIME, 0)
    return "set"


@attack("processes")
def set_host_name(w):
    socket.sethostname("evil")
    return "set"


@attack("processes")
def change_personality(w):
    return system_call("personality", 0x0040000)


@attack("processes")
def load_own_library(w):
    Path("/tmp/evil.so").write_bytes(b"\x7fELF")
    return str(ctypes.CDLL("/tmp/evil.so"))


# Resources


@attack("resources")
def spin(w):
    while True:
        pass


@attack("resources")
def spin_in_threads(w):
    def forever():
        while True:
            pass

    for _ in range(8):
        threading.Thread(target=forever).start()
    forever()


@attack("resources")
def sleep_forever(w):
    time.sleep(1_000_000)


@attack("resources")
def spin_in_c(w):
    return sum(itertools.repeat(1)) and None


@attack("resources")
def backtrack(w):
    return re.match(r"^(a+)+$", "a" * 60 + "!") and "matched"


@attack("resources")
def power(w):
    return len(str(9**9**9)) and None


@attack("resources")
def fill_memory(w):
    kept = []
    while True:
        kept.append(bytearray(32 * MB))


@attack("resources")
def fill_memory_slowly(w):
    kept = []
    while True:
        kept.append(str(len(kept)) * 1000)


@attack("resources")
def fill_mapped_memory(w):
    kept = []
    while True:
        block = mmap.mmap(-1, 64 * MB)
        block.write(b"x" * (64 * MB))
        kept.append(block)


@attack("resources")
def recurse(w):
    sys.setrecursionlimit(10**9)

    def deeper(kept):
        return deeper(bytearray(64 << 10))

    return deeper(None)


@attack("resources")
def fill_temporary_folder(w):
    written = 0
    try:
        for number in range(20):
            with open(f"/tmp/fill-{number}", "wb") as file:
                for _ in range(16):
                    file.write(bytes(MB))
                    file.flush()
                    written += 1
    except OSError:
        pass
    return f"{written} MB" if written > 64 else None


@attack("resources")
def fill_one_file(w):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    written = 0
    try:
        with open("/tmp/one", "wb") as file:
            for _ in range(60):
                file.write(bytes(MB))
                file.flush()
                written += 1
    except OSError:
        pass
    return f"{written} MB" if written > 33 else None


@attack("resources")
def make_files_without_end(w):
    for number in itertools.count():
        Path(f"/tmp/file-{number}").touch()


@attack("resources")
def make_folders_without_end(w):
    os.chdir("/tmp")
    while True:
        os.mkdir("d")
        os.chdir("d")


@attack("resources")
def open_without_end(w):
    kept = []
    with contextlib.suppress(OSError):
        while True:
            kept.append(os.open("/dev/null", os.O_RDONLY))
    return f"{len(kept)} files" if len(kept) > 256 else None


@attack("resources")
def start_threads_without_end(w):
    started = 0
    with contextlib.suppress(RuntimeError):
        while started < 1000:
            threading.Thread(target=time.sleep, args=[1000], daemon=True).start()
            started += 1
    return f"{started} threads" if started > 64 else None


@attack("resources")
def make_pipes_without_end(w):
    kept = []
    try:
        while True:
            kept.append(os.pipe())
    except OSError as error:
        return None if error.errno == errno.EMFILE else str(error)


@attack("resources")
def answer_too_much(w):
    return "x" * (2 * MB)


@attack("resources")
def answer_far_too_much(w):
    return "x" * (20 * MB)


@attack("resources")
def answer_too_deep(w):
    deep = 1
    for _ in range(500):
        deep = [deep]
    return deep


@attack("resources")
def print_without_end(w):
    while True:
        print("x" * 1000)


@attack("resources")
def write_errors_without_end(w):
    while True:
        os.write(2, b"x" * MB)


@attack("resources")
def exit_at_once(w):
    os._exit(0)


@attack("resources")
def abort(w):
    os.abort()


@attack("resources")
def crash(w):
    ctypes.string_at(0)


@attack("resources")
def kill_itself(w):
    os.kill(os.getpid(), signal.SIGKILL)


# Protocol


def _output_descriptors():
    return [
        number for number in range(1, 256) if _is_pipe(number) and number != 2 and _writable(number)
    ]


def _is_pipe(number):
    with contextlib.suppress(OSError):
        mode = os.fstat(number).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    return False


def _writable(number):
    import fcntl

    return fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def _say(data):
    """Write to every pipe out of the process, then wait to be stopped."""
    for number in _output_descriptors():
        with contextlib.suppress(OSError):
            os.write(number, data)
    time.sleep(1000)


def _forge(**more):
    _say(json.dumps({"jsonrpc": "2.0", **more}).encode() + b"\n")


FORGED = {"output": {"escaped": "forged"}, "value": {"escaped": "forged"}}


@attack("protocol")
def forge_first_answer(w):
    _forge(id=1, result=FORGED)


@attack("protocol")
def forge_many_answers(w):
    line = '{"jsonrpc":"2.0","id":%d,"result":{"output":{"escaped":"forged"}}}\n'
    _say("".join(line % number for number in range(800)).encode())


@attack("protocol")
def forge_answer_with_boolean_id(w):
    _forge(id=True, result=FORGED)


@attack("protocol")
def forge_answer_with_text_id(w):
    _forge(id="1", result=FORGED)


@attack("protocol")
def forge_answer_with_null_id(w):
    _forge(id=None, result=FORGED)


@attack("protocol")
def forge_answer_with_fraction_id(w):
    _forge(id=1.5, result=FORGED)


@attack("protocol")
def forge_result_and_error(w):
    _forge(id=1, result=FORGED, error={"code": 1, "message": ""})


@attack("protocol")
def forge_neither(w):
    _forge(id=1)


@attack("protocol")
def forge_unknown_notification(w):
    _forge(method="cancel", params={"id": 1})


@attack("protocol")
def forge_batch(w):
    _say(b'[{"jsonrpc":"2.0","id":1,"result":{}}]\n')


@attack("protocol")
def send_garbage(w):
    _say(b"this is not JSON\n")


@attack("protocol")
def send_text(w):
    _say(b'"text"\n')


@attack("protocol")
def send_not_a_number(w):
    _say(b'{"jsonrpc":"2.0","id":1,"result":{"output":NaN}}\n')


@attack("protocol")
def send_huge_number(w):
    _say(b'{"jsonrpc":"2.0","id":1,"result":{"output":' + b"9" * 50_000 + b"}}\n")


@attack("protocol")
def send_deep(w):
    _say(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 30_000 + b"]" * 30_000 + b"}\n")


@attack("protocol")
def send_bad_encoding(w):
    _say(b"\x7b\xff\xfe\x7d\n")


@attack("protocol")
def send_long_line(w):
    for number in _output_descriptors():
        for _ in range(6):
            with contextlib.suppress(OSError):
                os.write(number, b"x" * MB)
    time.sleep(1000)


@attack("protocol")
def close_every_descriptor(w):
    os.closerange(0, 256)
    time.sleep(1000)


# The neighbour: another call that runs at the same time, with a secret of its own

NEIGHBOUR_PORT = 18_099
NEIGHBOUR_KEY = 0x0FF1CE
SECRET = re.compile(r"neighbour-[0-9a-f]{16}")


def hold(secret: str) -> None:
    """Be the neighbour: keep a secret wherever one can be kept, and wait to be cancelled."""
    os.environ["KEPT"] = secret
    Path("/tmp/neighbour.txt").write_text(secret)
    for address in ("\0neighbour", "/tmp/neighbour"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
        threading.Thread(target=_tell, args=(listener, secret), daemon=True).start()
    block = mmap.mmap(-1, MB)
    block.write(secret.encode())
    while True:
        time.sleep(0.05)
        Path("/tmp/neighbour.txt").write_text(secret)


def _tell(listener, secret):
    while True:
        with listener.accept()[0] as connection:
            connection.sendall(secret.encode())


@attack("neighbours")
def see_neighbour(w):
    others = {1, os.getpid()}  # the sandbox's own first process
    for number in range(1, 5000):
        if number not in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, 0)
                return f"process {number}"
    return None


@attack("neighbours")
def kill_everybody(w):
    os.kill(-1, signal.SIGKILL)
    os.kill(1, signal.SIGKILL)


@attack("neighbours")
def stop_everybody(w):
    os.kill(-1, signal.SIGSTOP)
    return "stopped"


def _ask_neighbour(address):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)
        return client.recv(100).decode()


@attack("neighbours")
def ask_neighbour_by_abstract_socket(w):
    return _ask_neighbour("\0neighbour")


@attack("neighbours")
def ask_neighbour_by_socket_file(w):
    return _ask_neighbour("/tmp/neighbour")


@attack("neighbours")
def ask_neighbour_by_loopback(w):
    socket.create_connection(("127.0.0.1", NEIGHBOUR_PORT), 1)
    return "connected"


@attack("neighbours")
def read_neighbour_file(w):
    return text("/tmp/neighbour.txt")


@attack("neighbours")
def search_files_for_neighbour(w):
    for folder in ("/tmp", "/pkg", "/rt", "/etc", "/dev"):
        for path, _, files in os.walk(folder):
            for file in files:
                whole = os.path.join(path, file)
                if os.path.isfile(whole):
                    with contextlib.suppress(OSError):
                        found = SECRET.search(Path(whole).read_text(errors="replace"))
                        if found:
                            return found[0]
    return None


@attack("neighbours")
def search_memory_for_neighbour(w):
    for item in gc.get_objects():
        for value in gc.get_referents(item):
            if isinstance(value, str) and SECRET.fullmatch(value):
                return value
    return None


@attack("neighbours")
def search_fresh_memory(w):
    block = mmap.mmap(-1, 64 * MB)
    dirty = bytes(block).strip(b"\0")
    block.close()
    LIBC.malloc.restype = ctypes.c_void_p
    for size in (4 << 10, 256 << 10, 8 * MB):
        found = SECRET.search(ctypes.string_at(LIBC.malloc(size), size).decode("latin-1"))
        if found:
            return found[0]
    return f"{len(dirty)} bytes" if dirty else None


@attack("neighbours")
def read_usage_of_neighbour(w):
    places = ("/sys/fs/cgroup/cpu.stat", "/proc/self/cgroup", "/proc/stat", "/proc/loadavg")
    for place in places:
        with contextlib.suppress(OSError):
            return text(place)
    return None


@attack("neighbours")
def share_segment_with_neighbour(w):
    return system_call("shmget", NEIGHBOUR_KEY, 4096, 0o666)


@attack("neighbours")
def share_queue_with_neighbour(w):
    return system_call("mq_open", b"neighbour", os.O_CREAT | os.O_RDWR, 0o666, 0)


@attack("neighbours")
def trace_every_process(w):
    for number in range(1, 300):
        if number != os.getpid() and (found := system_call("ptrace", 16, number, 0, 0)):
            return found
    return None


@attack("neighbours")
def read_memory_of_every_process(w):
    for number in range(1, 300):
        found = system_call("process_vm_readv", number, 0, 0, 0, 0, 0)
        if found and number != os.getpid():
            return found
    return None


def _shared_files():
    """Return files that are the same for every sandbox of this kind."""
    found = ["/pkg/entry.json", "/rt/code/worker.py", "/rt/python/worker.py", os.__file__]
    found += [file for file in (globals().get("__file__"),) if file]
    return [file for file in found if os.path.isfile(file)]


def _control_shared_files(*arguments):
    import fcntl

    for file in _shared_files():
        for path in (file, os.path.dirname(file)):
            with contextlib.suppress(OSError):
                fcntl.fcntl(os.open(path, os.O_RDONLY), *arguments)
                return path
    return None


@attack("neighbours")
def hold_shared_files(w):
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    return _control_shared_files(1024, 1)  # F_SETLEASE, F_WRLCK: others wait to open it


@attack("neighbours")
def notice_shared_files(w):
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    return _control_shared_files(1026, 1 | 0x80000000 - (1 << 32))  # F_NOTIFY: who reads here


@attack("neighbours")
def watch_shared_files(w):
    for function in (LIBC.inotify_init, lambda: LIBC.inotify_init1(0)):
        descriptor = function()
        if descriptor >= 0:
            return f"watch {LIBC.inotify_add_watch(descriptor, b'/pkg', 0xFFF)}"
    return None


@attack("neighbours")
def change_times_of_shared_files(w):
    for file in _shared_files():
        with contextlib.suppress(OSError):
            os.utime(file)
            return file
    return None


@attack("neighbours")
def mark_shared_files(w):
    for file in _shared_files():
        with contextlib.suppress(OSError):
            os.setxattr(file, "user.evil", b"x")
            return file
    return None


@attack("neighbours")
def read_through_shared_mapping(w):
    for file in _shared_files():
        with contextlib.suppress(OSError), open(file, "r+b") as opened:
            mmap.mmap(opened.fileno(), 0)[0:1] = b"x"
            return file
    return None


@attack("neighbours")
def widen_pipes(w):
    import fcntl

    number = os.pipe()[1]
    size = fcntl.fcntl(number, 1031, MB)  # memory of the kernel, that counts for the user
    return f"{size} bytes"


@attack("neighbours")
def queue_signals_without_end(w):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    queued = 0
    while queued < 5000 and LIBC.sigqueue(os.getpid(), int(signal.SIGRTMIN), 0) == 0:
        queued += 1
    return f"{queued} signals" if queued > 200 else None


@attack("neighbours")
def pass_descriptors_without_end(w):
    left, right = socket.socketpair()
    kept, sent = [right], 0
    left.setblocking(False)
    with contextlib.suppress(OSError):
        while sent < 5000:
            socket.send_fds(left, [b"x"], [0] * 100)
            sent += 100
            if sent % 1000 == 0:
                left, right = socket.socketpair()
                left.setblocking(False)
                kept.append(right)
    return f"{sent} descriptors" if sent > 1000 else None


# Finding out the id of a question, from the memory of its own process


def _request():
    frame = sys._getframe()
    while frame is not None:
        for value in frame.f_locals.values():
            if isinstance(value, dict) and {"id", "method", "params"} <= value.keys():
                return value
        frame = frame.f_back
    raise LookupError("no request")


@attack("protocol")
def answer_the_next_question(w):
    _forge(id=_request()["id"] + 1, result=FORGED)


@attack("protocol")
def answer_the_question_before(w):
    _forge(id=_request()["id"] - 1, result=FORGED)


@attack("protocol")
def answer_questions_around(w):
    number = _request()["id"]
    lines = [f'{{"jsonrpc":"2.0","id":{number + n},"result":{{}}}}\n' for n in (2, 3, 100)]
    _say("".join(lines).encode())


@attack("protocol")
def log_for_another_call(w):
    _forge(id=_request()["id"] + 7, method="log", params={"level": "log", "text": "forged"})


@attack("protocol")
def answer_with_stolen_artifacts(w):
    _forge(id=_request()["id"] + 1, result={"output": 1, "artifacts": [{"name": w["canary"]}]})


# Leaving something behind, taking something of another call


@attack("poison")
def patch_json(w):
    json.loads = lambda *_: {"patched": True}
    json.dumps = lambda *_, **__: '{"output": {"escaped": "patched"}}'


@attack("poison")
def patch_modules(w):
    sys.patched = True
    sys.modules["json"] = None


@attack("poison")
def keep_environment(w):
    os.environ["SECRET"] = "left behind"


@attack("poison")
def keep_file(w):
    Path("/tmp/left").write_text("left behind")


@attack("poison")
def keep_thread(w):
    threading.Thread(target=time.sleep, args=[1000]).start()


@attack("poison")
def keep_exit_handler(w):
    import atexit

    atexit.register(time.sleep, 1000)


@attack("poison")
def ignore_signals(w):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(1000)


@attack("poison")
def read_another_secret(w):
    return os.environ.get("SECRET")


@attack("poison")
def search_memory_for_another_call(w):
    needle = "canary" + "-"
    for item in gc.get_objects():
        if isinstance(item, dict):
            for value in list(item.values()):
                if isinstance(value, str) and value.startswith(needle) and value != w["canary"]:
                    return value
    return None


@attack("poison")
def read_another_call(w):
    for number in range(2, 400):
        with contextlib.suppress(OSError):
            return text(f"/proc/{number}/environ")
    return None
