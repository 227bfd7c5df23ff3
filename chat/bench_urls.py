from django.urls import path

from chat.views import bench

app_name = "bench"
urlpatterns = [
    path("", bench.bench, name="bench"),
    path("import/", bench.cases_import, name="import"),
    path("cases/<uuid:bench_case_id>/", bench.case_edit, name="case"),
    path("cases/<uuid:bench_case_id>/delete/", bench.case_delete, name="case_delete"),
    path("run/", bench.bench_start, name="start"),
    path("runs/<uuid:bench_run_id>/", bench.run_detail, name="run"),
    path("runs/<uuid:bench_run_id>/stop/", bench.run_stop, name="run_stop"),
    path("runs/<uuid:bench_run_id>/results.csv", bench.run_results, name="results"),
]
