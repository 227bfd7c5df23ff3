"""The upload of Python modules: read safely, built in the sandbox, candidates until approved."""

import io
import stat
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from registry.calling import invoke
from registry.context import CallContext, Caller
from registry.execution import Succeeded
from registry.importing.errors import InvalidUpload, PackageNotYours
from registry.importing.jobs import import_request, import_run, upload_request
from registry.importing.uploads import read_module
from registry.loading import load_spec
from registry.models import ImportJob, Package, Proposal, Tool, Upload
from registry.models.package import Ecosystem, ReviewStatus
from registry.services import package_review

GREET = b'''"""Greets."""


def greet(name: str) -> str:
    """Greet a person."""
    return f"Hi {name}"
'''
LOUD = GREET.replace(b"Hi {name}", b"HI {name}").replace(b"Greet a person", b"Greet loudly")


def zipped(files, *, mode=None):
    """Return an archive of `{path: content}`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)
            if mode:
                entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return packed.getvalue()


def bring(content, filename, user, **more):
    job = upload_request(content, filename=filename, user=user, queued=False, **more)
    import_run(job.pk)
    return ImportJob.objects.get(pk=job.pk)


class TestReading:
    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    @pytest.mark.parametrize("broken", [False, True])
    def test_an_archive_packed_in_an_unusual_way_is_refused(self, method, broken):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", method) as archive:
            archive.writestr("kit/__init__.py", GREET * 20)
        content = bytearray(packed.getvalue())
        if broken:  # the dictionary that it asks for, and what comes after
            content[45:75] = b"\xff" * 30
        with pytest.raises(InvalidUpload):
            read_module(bytes(content), "kit.zip")

    @pytest.mark.parametrize("offset", range(0, 400, 3))
    def test_a_damaged_archive_is_told_of_and_never_a_fault(self, offset):
        content = bytearray(zipped({"kit/__init__.py": GREET, "kit/more.py": GREET}))
        at = offset % len(content)
        for value in (0, 0x41, 0xFF):
            content[at] = value
            try:
                read_module(bytes(content), "kit.zip")
            except InvalidUpload as problem:
                assert problem.message

    def test_one_file_is_a_module_of_its_name_or_the_one_given(self):
        assert read_module(GREET, "greeting.py").files == {"greeting.py": GREET}
        assert read_module(GREET, "C:\\mine\\greeting.py", "hello").name == "hello"

    @pytest.mark.parametrize(
        "files",
        [
            {"kit/__init__.py": GREET, "kit/parts/more.py": b""},
            {"kit-main/kit/__init__.py": GREET, "kit-main/kit/parts/more.py": b""},
            {"kit-main/src/kit/__init__.py": GREET, "kit-main/src/kit/parts/more.py": b""},
        ],
    )
    def test_an_archive_of_one_package_is_found_wherever_it_lies(self, files):
        rest = {"kit/__pycache__/x.pyc": b"x", "__MACOSX/kit/a": b"x", "kit/.hidden": b"x"}

        module = read_module(
            zipped({**files, **(rest if "kit/__init__.py" in files else {})}), "k.zip"
        )

        assert module.files == {"kit/__init__.py": GREET, "kit/parts/more.py": b""}

    def test_requirements_beside_the_package_and_of_a_wheel_are_taken_in(self):
        kit = {"kit/__init__.py": GREET}
        beside = read_module(zipped({**kit, "requirements.txt": b"httpx\n"}), "k.zip")
        metadata = b"Name: kit\nRequires-Dist: httpx>=0.27\nRequires-Dist: rich; extra == 'x'\n\nHi"
        wheel = read_module(zipped({**kit, "kit-1.0.dist-info/METADATA": metadata}), "k.whl")

        assert beside.files["kit/requirements.txt"] == b"httpx\n"
        assert wheel.files["kit/requirements.txt"] == b"httpx>=0.27\n"

    @pytest.mark.parametrize(
        ("content", "filename", "said"),
        [
            (b"", "empty.py", "is empty"),
            (GREET, "tool.js", "no Python module"),
            (GREET, "two words.py", "cannot be the name"),
            (b"x" * 2_000_001, "big.py", "at most 2,000,000 fit"),
            (b"no zip", "kit.zip", "no readable zip"),
            (zipped({"../evil.py": b""}), "kit.zip", "not allowed"),
            (zipped({"/etc/evil.py": b""}), "kit.zip", "not allowed"),
            (zipped({"kit/..\\evil.py": b""}), "kit.zip", "not allowed"),
            (zipped({"kit/__init__.py": b"0" * 3_000_000}), "kit.zip", "unpacks to more"),
            (zipped({f"kit/m{i}.py": b"" for i in range(201)}), "kit.zip", "more than 200 files"),
            (zipped({"kit/__init__.py": b"x"}, mode=stat.S_IFLNK), "kit.zip", "is a link"),
            (zipped({"a/__init__.py": b"", "b/__init__.py": b""}), "k.zip", "It has a, b"),
            (zipped({"readme.md": b""}), "kit.zip", "It has none"),
        ],
    )
    def test_what_cannot_be_taken_is_told(self, content, filename, said):
        with pytest.raises(InvalidUpload, match=said):
            read_module(content, filename)

    def test_a_package_keeps_the_name_that_its_own_files_use(self):
        with pytest.raises(InvalidUpload, match="is called “kit”"):
            read_module(zipped({"kit/__init__.py": b""}), "kit.zip", "other")


@pytest.mark.sandbox
@pytest.mark.django_db
@pytest.mark.usefixtures("sandbox_service")
class TestImport:
    def test_an_uploaded_tool_runs_and_its_package_waits_for_approval(self, alice):
        job = bring(GREET, "greeting.py", alice)

        assert job.error is None
        package = Package.objects.get()
        assert (package.ecosystem, package.name) == (Ecosystem.UPLOAD, "greeting")
        assert (package.review_status, package.added_by) == (ReviewStatus.CANDIDATE, alice)
        assert package.integrity.startswith("sha256:")
        context = CallContext(user=alice, caller=Caller.BROWSER)
        result = invoke(load_spec(Tool.objects.get()), {"name": "Ada"}, context)
        assert isinstance(result, Succeeded)
        assert result.output == "Hi Ada"

    def test_the_same_again_changes_nothing_and_another_content_is_a_new_version(self, alice):
        bring(GREET, "greeting.py", alice)
        again = bring(GREET, "greeting.py", alice)
        newer = bring(LOUD, "greeting.py", alice)

        assert [entry["status"] for entry in (*again.report, *newer.report)] == [
            "unchanged",
            "updated",
        ]
        assert Tool.objects.get().version == 2
        assert (Package.objects.count(), Upload.objects.count()) == (1, 2)

    def test_a_new_upload_of_an_approved_package_is_proposed_and_the_old_runs_on(self, alice):
        package = bring(GREET, "greeting.py", alice).package
        package_review(package, status=ReviewStatus.APPROVED)

        job = bring(LOUD, "greeting.py", alice)

        assert [entry["status"] for entry in job.report] == ["proposed"]
        proposal = Proposal.objects.get(package=package, state="open")
        assert proposal.after["version"] != package.version
        context = CallContext(user=alice, caller=Caller.BROWSER)
        assert invoke(load_spec(Tool.objects.get()), {"name": "A"}, context).output == "Hi A"

    def test_a_package_with_modules_is_imported_whole(self, alice):
        files = {
            "kit/__init__.py": b"from .words import greet\n__all__ = ['greet']\n",
            "kit/words.py": GREET,
        }
        job = bring(zipped(files), "kit.zip", alice)

        assert (job.error, [entry["export"] for entry in job.report]) == (None, ["greet"])

    def test_the_file_and_line_that_are_wrong_are_named(self, alice):
        files = {"kit/__init__.py": b"", "kit/bad.py": b"x = 1\ndef f(:\n"}
        job = bring(zipped(files), "kit.zip", alice)

        assert job.error["code"] == "invalid_upload"
        assert job.error["extra"]["problems"][0]["path"] == "kit/bad.py, line 2"
        assert "kit/bad.py, line 2: " in job.error["message"]

    def test_a_name_that_is_somebody_elses_is_refused(self, alice, charlie):
        bring(GREET, "greeting.py", alice)

        with pytest.raises(PackageNotYours):
            bring(LOUD, "greeting.py", charlie)
        assert Upload.objects.count() == 1

    def test_a_refresh_reads_the_upload_in_use_again(self, alice):
        bring(GREET, "greeting.py", alice)

        job = import_request(ecosystem="upload", name="greeting", user=alice, queued=False)
        import_run(job.pk)

        job.refresh_from_db()
        assert [entry["status"] for entry in job.report] == ["unchanged"]


@pytest.mark.django_db
class TestAsking:
    def test_somebody_elses_upload_is_not_imported_by_its_digest(self, alice, charlie):
        upload_request(GREET, filename="greeting.py", user=alice, queued=False)

        with pytest.raises(InvalidUpload, match="There is no upload"):
            import_request(
                ecosystem="upload",
                name="greeting",
                version=Upload.objects.get().digest,
                user=charlie,
            )

    def test_the_page_takes_a_file_and_goes_to_its_progress(self, alice, client_for):
        answer = client_for(alice).post(
            "/packages/import/upload/",
            {"upload-file": SimpleUploadedFile("greeting.py", GREET), "upload-module": ""},
        )

        job = ImportJob.objects.get()
        assert answer.headers["Location"] == f"/jobs/{job.pk}/"
        assert (job.ecosystem, job.requested_by) == ("upload", alice)

    def test_the_page_says_what_is_wrong_beside_the_file(self, alice, client_for):
        for file in (None, SimpleUploadedFile("tool.js", b"x")):
            given = {"upload-file": file} if file else {}
            answer = client_for(alice).post("/packages/import/upload/", given)
            assert answer.status_code == 422
        assert "no Python module" in answer.content.decode()

    def test_rest_takes_a_file_with_settings_and_answers_with_the_job(self, alice, client_for):
        file = SimpleUploadedFile("greeting.py", GREET)
        answer = client_for(alice).post(
            "/api/v1/packages/upload/", {"file": file, "settings": '{"module": "greeting"}'}
        )

        job = ImportJob.objects.get()
        assert (answer.status_code, answer.json()["id"]) == (202, str(job.pk))
        assert job.settings == {"module": "greeting"}

    @pytest.mark.parametrize(
        ("given", "code"),
        [
            ({}, 400),
            ({"file": ("tool.js", b"x")}, 400),
            ({"file": ("greeting.py", GREET), "settings": "[]"}, 400),
            ({"file": ("greeting.py", GREET), "settings": "{"}, 400),
        ],
    )
    def test_rest_refuses_what_cannot_be_read(self, alice, client_for, given, code):
        if "file" in given:
            given = {**given, "file": SimpleUploadedFile(*given["file"])}
        answer = client_for(alice).post("/api/v1/packages/upload/", given)
        assert answer.status_code == code, answer.content

    def test_a_key_belongs_to_one_content(self, alice, client_for):
        client, headers = client_for(alice), {"Idempotency-Key": "upload-1"}
        answers = [
            client.post(
                "/api/v1/packages/upload/",
                {"file": SimpleUploadedFile("greeting.py", content)},
                headers=headers,
            )
            for content in (GREET, GREET, LOUD)
        ]
        assert [answer.status_code for answer in answers] == [202, 202, 409]
