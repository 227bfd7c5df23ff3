"""How much a sandboxed process may use, and what the service accepts from it."""

from dataclasses import dataclass

MB = 1 << 20

LOAD_SECONDS = 120.0
CALL_SECONDS = 30.0
MAX_CALL_SECONDS = 300.0
MAX_STDIO_SECONDS = MAX_CALL_SECONDS + LOAD_SECONDS
FACTORIES_SECONDS = 20.0
BUILD_SECONDS = 180.0
SELF_TEST_SECONDS = 20.0
STDIN_SECONDS = 10.0
QUEUE_SECONDS = 30.0

MAX_OUTPUT_BYTES = 1 * MB
MAX_LINE_BYTES = 4 * MB
MAX_NOTIFICATIONS = 20_000
MAX_STDIO_BYTES = 64 * MB
MAX_STDIO_MESSAGES = 5_000
MAX_STRAY_LINES = 200
MAX_STDERR_BYTES = 64 * MB
STDERR_KEPT_BYTES = 16_384
STDERR_SHOWN_CHARACTERS = 600
MAX_LOG_CHARACTERS = 64 * 1024
MAX_JSON_DEPTH = 100
MAX_INTEGER_DIGITS = 30

# Programs that models write.
CODE_SECONDS = 60.0
CODE_CALL_SECONDS = 20.0
CODE_START_SECONDS = 20.0
CODE_CALLS_AT_ONCE = 8
CODE_ARGUMENT_BYTES = 16 * MB
MAX_CODE_CHARACTERS = 200_000
MAX_CODE_TOOLS = 1_000
MAX_CODE_CALLS = 500
MAX_PRINT_CHARACTERS = 1 * MB
PRINT_FLOOD_CHARACTERS = 16 * MB

MAX_ARTIFACT_BYTES = 512 * MB
MIN_FREE_BYTES = 1024 * MB


@dataclass(frozen=True, slots=True)
class Limits:
    """Kernel limits of one sandbox (`setrlimit` inside it, and the sizes of its tmpfs).

    `address_mb` bounds what `memory_mb` does not count: memory that is mapped to be shared. Deno
    reserves far more than it uses, and its packages cannot map memory; so there it is None.
    """

    cpu_seconds: int = 20
    memory_mb: int = 512
    threads: int = 64
    open_files: int = 256
    file_mb: int = 32
    tmp_mb: int = 64
    address_mb: int | None = None


CALL_LIMITS = Limits()
SERVER_LIMITS = Limits(cpu_seconds=60)
PYTHON_LIMITS = Limits(address_mb=1024)
PYTHON_SERVER_LIMITS = Limits(cpu_seconds=60, address_mb=2048)
BUILD_LIMITS = Limits(
    cpu_seconds=120, memory_mb=1024, threads=256, open_files=4096, file_mb=256, tmp_mb=16
)
