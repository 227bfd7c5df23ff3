"""`/api/v1/packages/…` and `/api/v1/jobs/…`."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages, read_write
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from registry import selectors
from registry.api import package_serializers as shapes
from registry.importing.jobs import import_again, import_request
from registry.importing.repair import package_repair
from registry.importing.schedule import check_request, schedule_of
from registry.importing.variables import package_declare_env
from registry.models import ImportJob

READ_WRITE = read_write("tools")


class PackageListView(APIView):
    """List packages and import new ones."""

    required_scopes = READ_WRITE

    @extend_schema(responses=shapes.PackageSerializer(many=True), operation_id="packages_list")
    def get(self, request: SignedInApiRequest) -> Response:
        """List the packages that you may see."""
        pages = CursorPages()
        packages = selectors.packages_visible_to(request.user).select_related("added_by")
        page = pages.paginate_queryset(packages, request, view=self)
        return pages.get_paginated_response(shapes.PackageSerializer(page, many=True).data)

    @extend_schema(request=shapes.PackageImportSerializer, responses={202: shapes.JobSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Import a package. The job tells how far it is."""
        body = shapes.PackageImportSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return _accepted(import_request(**body.validated_data, user=request.user))


class PackageView(APIView):
    """One package."""

    required_scopes = READ_WRITE

    @extend_schema(responses=shapes.PackageDetailSerializer, operation_id="packages_retrieve")
    def get(self, request: SignedInApiRequest, package_id: UUID) -> Response:
        """Show a package with its manifest."""
        package = selectors.package_visible_to(request.user, package_id)
        return Response(shapes.PackageDetailSerializer(package).data)

    @extend_schema(request=shapes.PackagePatchSerializer, responses=shapes.PackageDetailSerializer)
    def patch(self, request: SignedInApiRequest, package_id: UUID) -> Response:
        """Let a package that you added read the variables in `env`; its tools are given no other.

        New variables of an approved package are reviewed anew.
        """
        body = shapes.PackagePatchSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        package = selectors.package_visible_to(request.user, package_id)
        package = package_declare_env(package, body.validated_data["env"], user=request.user)
        return Response(shapes.PackageDetailSerializer(package).data)


class PackageRepairView(APIView):
    """A tool that is declared under another name than it is exported."""

    required_scopes = READ_WRITE

    @extend_schema(request=shapes.PackageRepairSerializer, responses=shapes.PackageDetailSerializer)
    @idempotent
    def post(self, request: SignedInApiRequest, package_id: UUID) -> Response:
        """Say which export of a package that you added the declared tool is."""
        body = shapes.PackageRepairSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        package = selectors.package_visible_to(request.user, package_id)
        package = package_repair(package, **body.validated_data, user=request.user)
        return Response(shapes.PackageDetailSerializer(package).data)


class PackageCheckView(APIView):
    """The health of a package's tools."""

    required_scopes = READ_WRITE

    @extend_schema(responses=shapes.CheckSerializer)
    def get(self, request: SignedInApiRequest, package_id: UUID) -> Response:
        """Tell when the tools of a package were last looked at, and when they are next."""
        package = selectors.package_visible_to(request.user, package_id)
        return Response(shapes.CheckSerializer(schedule_of(package)).data)

    @extend_schema(request=None, responses={202: shapes.CheckSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, package_id: UUID) -> Response:
        """Have the tools of a package that you added looked at as soon as a worker is free."""
        package = selectors.package_visible_to(request.user, package_id)
        check_request(package, request.user)
        return Response(
            shapes.CheckSerializer(schedule_of(package)).data, status=status.HTTP_202_ACCEPTED
        )


class PackageRefreshView(APIView):
    """The newest version of a package."""

    required_scopes = READ_WRITE

    @extend_schema(request=None, responses={202: shapes.JobSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, package_id: UUID) -> Response:
        """Import the newest version of a package that you added."""
        package = selectors.package_visible_to(request.user, package_id)
        job = import_request(ecosystem=package.ecosystem, name=package.name, user=request.user)
        return _accepted(job)


class JobView(APIView):
    """One import."""

    required_scopes = READ_WRITE

    @extend_schema(responses=shapes.JobSerializer)
    def get(self, request: SignedInApiRequest, job_id: UUID) -> Response:
        """Tell how far an import is."""
        return Response(shapes.JobSerializer(selectors.job_visible_to(request.user, job_id)).data)


class JobAgainView(APIView):
    """An import that is asked for once more."""

    required_scopes = READ_WRITE

    @extend_schema(request=None, responses={202: shapes.JobSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, job_id: UUID) -> Response:
        """Ask for the same import once more."""
        job = selectors.job_visible_to(request.user, job_id)
        return _accepted(import_again(job, user=request.user))


def _accepted(job: ImportJob) -> Response:
    return Response(
        shapes.JobSerializer(job).data,
        status=status.HTTP_202_ACCEPTED,
        headers={"Location": f"/api/v1/jobs/{job.pk}/"},
    )
