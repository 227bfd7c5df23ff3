"""`/api/v1/packages/validate/`."""

from collections.abc import Mapping
from typing import IO, Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.http import SignedInApiRequest
from registry.api import manifest_serializers as shapes
from registry.manifest.jsonfile import MOST_BYTES, NotJson
from registry.manifest.judging import judge_text, judgement_shape


class TextOfJson(BaseParser):
    """Hand over the body as text, so that its lines and doubled keys can be told."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, str]:
        """Return `{"text": …}`, cut where it is too large anyway; raises ParseError."""
        try:
            return {"text": stream.read(MOST_BYTES + 1).decode("utf-8-sig")}
        except UnicodeDecodeError as error:
            if error.start > MOST_BYTES - 4:  # cut within a sign
                raise ParseError(f"It is larger than {MOST_BYTES >> 10} KB.") from None
            raise ParseError("It is not UTF-8 text.") from None


class ManifestValidateView(APIView):
    """What would come of a manifest."""

    parser_classes = [TextOfJson]
    required_scopes = {"POST": "tools:read"}

    @extend_schema(
        request={"application/json": shapes.MANIFEST}, responses=shapes.JudgementSerializer
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Judge a package.json, or just its `tpmjs` field, without keeping it.

        A body that is no JSON is refused; a manifest that is wrong is answered with what is wrong.
        """
        body = request.data.get("text", "") if isinstance(request.data, dict) else ""
        try:
            judged = judge_text(body)
        except NotJson as error:  # told as every other body that is no JSON
            raise ParseError(f"{error.message} {error.hint}") from None
        return Response(judgement_shape(judged))
