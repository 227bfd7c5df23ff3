"""Settings of the whole product, read from the environment (see docs/reference/settings.md)."""

import os
from pathlib import Path

import dj_database_url
import django_stubs_ext
from celery.schedules import crontab
from django.conf import global_settings
from django.core.exceptions import ImproperlyConfigured

from config import embedded
from config.embedded import secrets
from config.lib.addresses import Allowed, parse_allowed
from config.lib.logs import formatters, hide_always, log_format

django_stubs_ext.monkeypatch()  # lets `ModelAdmin[Tool]` be written, as the type checker wants it

BASE_DIR = Path(__file__).resolve().parent.parent


def flag(name: str, default: bool) -> bool:
    """Read a yes/no variable: 1, true, yes and on mean yes."""
    return os.environ.get(name, str(default)).strip().lower() in {"1", "true", "yes", "on"}


def listed(name: str, default: str) -> list[str]:
    """Read a comma-separated variable."""
    return [item.strip() for item in os.environ.get(name, default).split(",") if item.strip()]


def networks(name: str) -> tuple[Allowed, ...]:
    """Read a comma-separated variable of networks and addresses."""
    try:
        return parse_allowed(os.environ.get(name, ""))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None


_addresses = embedded.addresses()
_secrets = secrets.load_or_create()

# --- Core ------------------------------------------------------------------------------------
SECRET_KEY = _secrets.secret_key
ENCRYPTION_KEYS = _secrets.encryption_keys
"""Fernet keys, newest first: the first encrypts, all of them decrypt."""
hide_always([SECRET_KEY, *ENCRYPTION_KEYS])

DEBUG = flag("DEBUG", False)
ALLOWED_HOSTS = listed("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = listed("CSRF_TRUSTED_ORIGINS", "")
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000  # a sequence of 100 steps is one form
DATA_UPLOAD_MAX_MEMORY_SIZE = 6_000_000  # an OpenAPI document of 5 MB fits into one request
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "config",
    "registry",
    "agents",
    "sequences",
    "chat",
    "config.apps.ConsoleConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "csp",
    "django_htmx",
    "oauth2_provider",
    "pgtrigger",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.api_middleware.ApiMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.middleware.ChangeMiddleware",
    "config.middleware.HtmxMiddleware",
    "config.middleware.DomainErrorMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- Database, cache, queue ------------------------------------------------------------------
DATABASES = {
    "default": {
        **dj_database_url.parse(os.environ.get("DATABASE_URL") or _addresses.database_url),
        "OPTIONS": {
            "pool": {"min_size": 0, "max_size": 24, "timeout": 20, "max_idle": 60},
            "prepare_threshold": 1,  # the second time; only what `config.lib.prepared` asks
        },
    }
}
REDIS_URL = os.environ.get("REDIS_URL") or _addresses.redis_url
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
}
CELERY_BROKER_URL = embedded.celery_url(REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# a request that sends a task waits no longer for a queue that is gone; what could not be sent is
# sent later, or its sender is told
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "interval_start": 0.2,
    "interval_step": 0.2,
    "connect_retries_timeout": 1.0,
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    "recover-runs": {"task": "sequences.tasks.recover_runs", "schedule": 5.0},
    "expire-requests": {"task": "sequences.tasks.expire_requests", "schedule": 30.0},
    "start-due-schedules": {"task": "sequences.start_due_schedules", "schedule": 10.0},
    "forget-deliveries": {"task": "sequences.forget_deliveries", "schedule": 3600.0},
    "collect-artifacts": {"task": "registry.collect_artifacts", "schedule": 6 * 3600.0},
    "sync-packages": {"task": "registry.sync_packages", "schedule": 60.0},
    "check-tool-health": {"task": "registry.check_tool_health", "schedule": 60.0},
    "roll-up-usage": {"task": "registry.roll_up_usage", "schedule": 30.0},
    "embed-tools": {"task": "registry.embed_tools", "schedule": 10.0},
    "score-tools": {"task": "registry.score_tools", "schedule": 60.0},
    "tell-events": {"task": "registry.tell_events", "schedule": 5.0},
    "forget-events": {"task": "registry.forget_events", "schedule": 3600.0},
    "clear-records": {"task": "registry.clear_records", "schedule": 3600.0},
    "measure-searches": {
        "task": "agents.measure_all_searches",
        "schedule": crontab(hour=3, minute=17),
    },
    "clear-oauth": {"task": "agents.clear_oauth", "schedule": 3600.0},
    "close-stale-turns": {"task": "chat.tasks.close_stale_turns", "schedule": 60.0},
    "resume-benches": {"task": "chat.resume_benches", "schedule": 60.0},
    "forget-expired-values": {"task": "chat.tasks.forget_expired_values", "schedule": 900.0},
}

# --- People ----------------------------------------------------------------------------------
PASSWORD_HASHERS = [
    *global_settings.PASSWORD_HASHERS,
    "agents.oauth.hashing.SecretHasher",  # of programs, whose secrets are random
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

# --- Language and time -----------------------------------------------------------------------
LANGUAGE_CODE = "en-gb"
FORMAT_MODULE_PATH = "config.formats"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

# --- Static files ----------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = embedded.var_dir() / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]

# --- Transport security (on when served over HTTPS) ------------------------------------------
HTTPS = flag("OUTFITTER_HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]  # asked past the proxy, without TLS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "media-src": ["'self'", "data:"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
        "base-uri": ["'self'"],
        "object-src": ["'none'"],
    },
}

# --- REST ------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "agents.api.authentication.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "config.lib.api.HasRequiredScope",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["config.lib.parsing.BoundedJSONParser"],
    "DEFAULT_PAGINATION_CLASS": "config.lib.api.CursorPages",
    "DEFAULT_THROTTLE_CLASSES": ["config.lib.api_limits.PerCaller"],
    "DEFAULT_SCHEMA_CLASS": "config.lib.api_schema.ApiSchema",
    "EXCEPTION_HANDLER": "config.lib.api_errors.handle_exception",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Outfitter",
    "DESCRIPTION": "Equips AI agents with tools at run time.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.lib.api_schema.shared_parts",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "ToolKind": "registry.models.tool.ToolKind",
        "ToolVisibility": "registry.models.tool.Visibility",
        "AgentVisibility": "agents.models.agent.AgentVisibility",
        "ImportStatus": "registry.models.job.JobStatus",
        "StateEnum": "registry.models.proposal.ProposalState",
        "MeasureState": "agents.models.search_case.MeasureState",
        "ApprovalDefault": "agents.models.agent.ApprovalDefault",
        "RuleEffect": "agents.models.approval_rule.RuleEffect",
        "RunStatus": "sequences.models.run.RunStatus",
        "DifferenceKind": ["added", "removed", "changed"],
        "BenchState": "chat.models.bench.BenchState",
    },
}

API_SCOPES = "agents.tokens.SCOPES"
"""Dotted path of the scopes of ours and what each lets a token do, for the OpenAPI document."""

API_CALLS_PER_MINUTE = int(os.environ.get("OUTFITTER_API_CALLS_PER_MINUTE", "3000"))
"""How many requests each caller may send to the REST API; 0: as many as they like."""

# --- OAuth -----------------------------------------------------------------------------------
OAUTH2_PROVIDER_APPLICATION_MODEL = "agents.OAuthClient"

CLIENT_REGISTRATION = os.environ.get("OUTFITTER_CLIENT_REGISTRATION", "governed").strip().lower()
"""Which programs people can let in that nobody here has made: off (none), governed (those that a
document describes, and those that register and a governor allows), open (all of them)."""

if CLIENT_REGISTRATION not in {"off", "governed", "open"}:
    raise ImproperlyConfigured("OUTFITTER_CLIENT_REGISTRATION: off, governed or open.")

REFRESH_TOKEN_SECONDS = 30 * 86_400
"""How long beyond its access token a refresh token is good."""

OAUTH2_PROVIDER = {
    "OAUTH2_SERVER_CLASS": "agents.oauth.server.Server",
    "OAUTH2_VALIDATOR_CLASS": "agents.oauth.validator.Validator",
    "SCOPES_BACKEND_CLASS": "agents.oauth.scopes.Scopes",
    "CLIENT_ID_GENERATOR_CLASS": "agents.oauth.generators.ClientIdGenerator",
    "CLIENT_SECRET_GENERATOR_CLASS": "agents.oauth.generators.ClientSecretGenerator",
    "CLIENT_SECRET_HASHER": "sha256_of_random",
    "ACCESS_TOKEN_GENERATOR": "agents.oauth.generators.access_token",
    "REFRESH_TOKEN_GENERATOR": "agents.oauth.generators.refresh_token",
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "ACCESS_TOKEN_EXPIRE_SECONDS": 3_600,
    "REFRESH_TOKEN_EXPIRE_SECONDS": REFRESH_TOKEN_SECONDS,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https"],  # OAuthClient.get_allowed_schemes adds to them
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
    "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "client_credentials", "refresh_token"],
    "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": [
        "client_secret_basic",
        "client_secret_post",
        "none",
    ],
    "CIMD_ENABLED": CLIENT_REGISTRATION != "off",
    "CIMD_METADATA_FETCHER": "agents.oauth.documents.GuardedFetcher",
    "CIMD_REGISTRATION_PERMISSION_CLASSES": ["agents.oauth.documents.MayFetch"],
    "DCR_ENABLED": CLIENT_REGISTRATION != "off",
    "DCR_REGISTRATION_PERMISSION_CLASSES": ["oauth2_provider.dcr.AllowAllDCRPermission"],
    "APPLICATION_ADMIN_CLASS": "agents.oauth.admin.ClientAdmin",
    "ACCESS_TOKEN_ADMIN_CLASS": "agents.oauth.admin.AccessTokenAdmin",
    "REFRESH_TOKEN_ADMIN_CLASS": "agents.oauth.admin.RefreshTokenAdmin",
    "GRANT_ADMIN_CLASS": "agents.oauth.admin.UnseenAdmin",
    "ID_TOKEN_ADMIN_CLASS": "agents.oauth.admin.UnseenAdmin",
    **{
        f"COMPLIANT_BCP_RFC9700_{rule}": True
        for rule in (
            *("IMPLICIT_GRANT", "PASSWORD_GRANT", "PKCE_METHOD", "PKCE_REQUIRED"),
            *("ACCESS_TOKEN_TRANSPORT", "AUTHZ_RESPONSE_ISS", "TOKEN_STORAGE", "REFRESH_TOKEN"),
            *("REDIRECT_URI_SCHEME", "REDIRECT_URI_MATCHING"),
        )
    },
}

# --- MCP -------------------------------------------------------------------------------------
MCP_ORIGINS = listed("OUTFITTER_MCP_ORIGINS", "")
"""Origins of web pages besides our own that may call `/mcp`; `*`: any."""

# --- Tools -----------------------------------------------------------------------------------
TOOL_EXECUTORS = {
    "builtin": "registry.executors.builtin.BuiltinExecutor",
    "npm": "registry.executors.npm.NpmExecutor",
    "api": "registry.executors.api.ApiExecutor",
    "mcp": "registry.executors.mcp.McpExecutor",
    "python": "registry.executors.python.PythonExecutor",
    "sequence": "sequences.executor.SequenceExecutor",
    "code": "registry.executors.code.CodeExecutor",
    "agent": "chat.delegation.AgentExecutor",
}
"""Kind of tool → dotted path of the class that runs it, so that `registry` imports no other app."""

CODE_CALL_SECONDS = int(os.environ.get("SANDBOX_CODE_CALL_SECONDS", "20"))
"""How long one call of a tool may take that a program makes."""

TOOL_CALLS_PER_MINUTE = int(os.environ.get("OUTFITTER_TOOL_CALLS_PER_MINUTE", "600"))
"""How often each caller may call a tool that has no limit of its own; 0: as often as they like."""

WEBHOOK_CALLS_PER_MINUTE = int(os.environ.get("OUTFITTER_WEBHOOK_CALLS_PER_MINUTE", "60"))
"""How many signed messages a webhook takes; 0: as many as come."""

SEARCH_INDEX_DIR = embedded.var_dir() / "search"
"""Where the search index is kept for processes that start."""

SEARCH_FOLLOWS_CHANGES = True
"""Whether a thread keeps each process's search index; else every search looks for changes."""

TOOL_CREDENTIALS = "agents.credentials.env_of"
"""Dotted path of `(user, agent or None) → Env`: whose variables a tool may read."""

TOOL_AGENTS = "agents.access.context_for"
"""Dotted path of `(user, agent slug, *, caller) → CallContext`: a call that is made as an agent."""

AGENT_NAMES = "agents.names"
"""The module that knows the names of agents, for the records of their calls."""

SCHEMA_TOKENS = "chat.budget.tokens_of_schema"
"""Dotted path of `(model, schema) → int`: what a schema takes of a model's window."""

TURN_MEANS = "chat.means.of_turn"
"""Dotted path of `CallContext → CallContext`: what the conversation of its `turn_id` adds."""

TOOL_AUTHORS = {
    "sequence": "sequences.authoring.SequenceAuthor",
    "api": "registry.api_tools.ApiAuthor",
}
"""Kind of tool that people make → dotted path of the class that makes it."""

TOOL_DEPENDENTS = ("sequences.dependents.SequenceDependents", "agents.dependents.AgentDependents")
"""Dotted paths of the classes that say what uses a tool; each is told what those before found."""

TOOL_USERS = ("agents.using.owners_using", "sequences.using.owners_using")
"""Dotted paths of `tool id → ids of the people whose things use it`, for events about tools."""

EMBEDDINGS = os.environ.get("OUTFITTER_EMBEDDINGS", "auto").strip() or "auto"
"""What turns texts into vectors: auto (the local model where it is installed), local, off, or the
LiteLLM string of an embedding model."""

EMBEDDING_ENCODERS = {
    "local": "registry.search.dense.local.LocalEncoder",
    "litellm": "chat.embedding.LiteLlmEncoder",
}
"""Kind of encoder → dotted path of its class, imported when it is first used."""

MODELS_DIR = embedded.var_dir() / "models"
"""Where the local model is kept in the form in which it runs."""

# --- Outgoing requests -----------------------------------------------------------------------
OUTBOUND_ALLOW = networks("OUTBOUND_ALLOW")
"""Addresses besides the public ones that tools may reach."""

TRUSTED_TOKEN_HOSTS = tuple(listed("TRUSTED_TOKEN_HOSTS", ""))
"""Hosts of the same trust domain, which the caller's own token may be sent to."""

# --- Events for programs ---------------------------------------------------------------------
PUBLIC_URL = os.environ.get("OUTFITTER_PUBLIC_URL", "").strip().rstrip("/")
"""Where people and programs reach the product: what addresses in events begin with."""

EVENT_TIMEOUT_SECONDS = float(os.environ.get("OUTFITTER_EVENT_TIMEOUT_SECONDS", "10"))
"""How long a receiver may take to answer."""

EVENT_RETRY_SECONDS = float(os.environ.get("OUTFITTER_EVENT_RETRY_SECONDS", "10"))
"""About how long the first wait before another try is; each further one is five times as long."""

EVENT_OFF_AFTER_DAYS = float(os.environ.get("OUTFITTER_EVENT_OFF_AFTER_DAYS", "5"))
"""A subscription is switched off whose address took nothing for so long."""

EVENT_KEPT_DAYS = float(os.environ.get("OUTFITTER_EVENT_KEPT_DAYS", "30"))
"""How long deliveries are kept."""

# --- Package registries ----------------------------------------------------------------------
SYNC_KEYWORD = os.environ.get("OUTFITTER_SYNC_KEYWORD", "").strip()
"""The npm keyword that is looked for from the start; empty: until a governor turns it on."""

# --- Chat ------------------------------------------------------------------------------------
OUTFITTER_MODEL = os.environ.get("OUTFITTER_MODEL", "demo/offline")
"""The LiteLLM model string for agents that name none of their own."""

MODEL_TRIES = int(os.environ.get("OUTFITTER_MODEL_TRIES", "3"))
"""How often a model is asked while its provider is busy or out of order, before it has spoken."""

MODEL_RETRY_SECONDS = float(os.environ.get("OUTFITTER_MODEL_RETRY_SECONDS", "1"))
"""About how long the first wait before another try is; each further one is twice as long."""

MODEL_RETRY_MOST_SECONDS = float(os.environ.get("OUTFITTER_MODEL_RETRY_MOST_SECONDS", "30"))
"""The longest wait; a provider that asks for more (Retry-After) is not asked again."""

MODEL_FIRST_TOKEN_SECONDS = float(os.environ.get("OUTFITTER_MODEL_FIRST_TOKEN_SECONDS", "120"))
"""How long a model may take to begin its answer."""

MODEL_CHUNK_SECONDS = float(os.environ.get("OUTFITTER_MODEL_CHUNK_SECONDS", "60"))
"""How long it may be silent in the middle of an answer."""

MODEL_TOTAL_SECONDS = float(os.environ.get("OUTFITTER_MODEL_TOTAL_SECONDS", "600"))
"""How long one answer may take in all."""

MODEL_CONTEXT_TOKENS = int(os.environ.get("OUTFITTER_MODEL_CONTEXT_TOKENS", "128000"))
"""How much a model reads at once that LiteLLM's list does not have."""

MODEL_ANSWER_TOKENS = int(os.environ.get("OUTFITTER_MODEL_ANSWER_TOKENS", "4096"))
"""What is kept free of that for the answer; at most a quarter of it."""

ARTIFACT_THRESHOLD_BYTES = int(os.environ.get("OUTFITTER_ARTIFACT_THRESHOLD_BYTES", "16000"))
"""An output over this size is kept as an artifact of the conversation; the model gets its start."""

CONVERSATION_VALUES_HOURS = float(os.environ.get("OUTFITTER_CONVERSATION_VALUES_HOURS", "12"))
"""How long a value that was set for one conversation is kept."""

RUN_COMMITS = os.environ.get("OUTFITTER_RUN_COMMITS", "sync").strip().lower() or "sync"
"""Whether a step of a run waits until its rows are on the disk (sync), or not (async)."""

RUN_LEASE_SECONDS = float(os.environ.get("OUTFITTER_RUN_LEASE_SECONDS", "20"))
"""How long a worker has a run without giving a sign of life; it gives five in that time."""

# --- Operation ---------------------------------------------------------------------------------
METRIC_COLLECTORS = (
    "registry.metrics.Recorded",
    "registry.metrics.SandboxState",
    "sequences.metrics.OpenRuns",
    "chat.metrics.OpenTurns",
    "config.metrics.Database",
    "config.metrics.Queue",
    "config.metrics.Search",
)
"""Dotted paths of what tells Prometheus how things stand, asked at each look at `/metrics`."""

# --- Logging ---------------------------------------------------------------------------------
try:
    _log_format = log_format()
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from None

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": formatters(),
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": _log_format}},
    "root": {"handlers": ["console"], "level": os.environ.get("LOG_LEVEL", "INFO")},
    "loggers": {
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        # The MCP SDK logs what it cannot read, word for word, and session ids.
        "mcp": {"level": "CRITICAL"},
        "client": {"level": "CRITICAL"},
        "LiteLLM": {"level": "WARNING"},
        # uvicorn's own handlers give way to ours; its line for each request shows the query.
        "uvicorn": {"handlers": [], "propagate": True},
        "uvicorn.error": {"level": "WARNING"},
        "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        # What is refused is in our own line for the request.
        "django.request": {"level": "ERROR"},
        # A plain terminal is for people, who see what they ask for.
        "outfitter.access": {"level": "INFO" if _log_format == "json" else "WARNING"},
    },
}
"""One form for the lines of all libraries; LOG_FORMAT says which."""
