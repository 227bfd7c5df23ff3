"""`/api/v1/packages/upload/`."""

import json
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api_bodies import Body
from config.lib.errors import InvalidInput
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject
from registry.api import package_serializers as shapes
from registry.importing.jobs import upload_request
from registry.importing.uploads import LARGEST_UPLOAD, MOST_FILES


@extend_schema_field(OpenApiTypes.BINARY)
class ModuleFileField(serializers.FileField):
    """A file of a multipart form."""


class PackageUploadSerializer(Body):
    """A Python module: one `.py` file, or a `.zip` or `.whl` of one package, of at most 2 MB.

    `name` gives a single file another name; `settings` is JSON with how the module is loaded, as
    `POST /packages/` takes it.
    """

    file = ModuleFileField(
        allow_empty_file=True,
        max_length=200,
        help_text=f"A .py, .zip or .whl file of at most {LARGEST_UPLOAD:,} bytes, packed and "
        f"unpacked, with at most {MOST_FILES} files.",
    )
    name = serializers.CharField(
        max_length=100,
        required=False,
        allow_blank=True,
        default="",
        help_text="Of a single file: what the module is called here, where not as the file.",
    )
    settings = serializers.CharField(
        max_length=100_000,
        required=False,
        allow_blank=True,
        default="",
        help_text="A JSON object, like the settings of `POST /packages/`, at most 100,000 long.",
    )

    def validate_file(self, file: Any) -> Any:
        """Refuse what is too large before it is read."""
        if file.size > LARGEST_UPLOAD:
            raise serializers.ValidationError(
                f"It has {file.size:,} bytes; at most {LARGEST_UPLOAD:,} fit."
            )
        return file

    def validate_settings(self, text: str) -> JsonObject | None:
        """Read the settings, which must be a JSON object."""
        if not text.strip():
            return None
        try:
            settings = json.loads(text)
        except (ValueError, RecursionError):
            settings = None
        if not isinstance(settings, dict):
            told = "It must be a JSON object."
            raise InvalidInput(
                "The settings cannot be read.",
                'Send an object such as {"class_name": "Greeter"}.',
                problems=[{"path": "$.settings", "message": told}],
            )
        return settings


class PackageUploadView(APIView):
    """Python modules that are uploaded."""

    required_scopes = {"POST": "tools:write"}
    parser_classes = (MultiPartParser,)

    @extend_schema(
        request={"multipart/form-data": PackageUploadSerializer},
        responses={202: shapes.JobSerializer},
    )
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Upload a Python module; the same name again makes its next version.

        The job tells how far it is, and which line of which file is wrong.
        """
        body = PackageUploadSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        job = upload_request(
            given["file"].read(),
            filename=given["file"].name or "",
            name=given["name"],
            settings=given["settings"],
            user=request.user,
        )
        return Response(
            shapes.JobSerializer(job).data,
            status=status.HTTP_202_ACCEPTED,
            headers={"Location": f"/api/v1/jobs/{job.pk}/"},
        )
