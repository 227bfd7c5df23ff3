from django.urls import path

from agents.views import workbench as views

app_name = "search"
urlpatterns = [
    path("", views.workbench, name="workbench"),
    path("weights/", views.weights_list, name="weights"),
    path("weights/save/", views.weights_save_view, name="weights_save"),
    path("weights/<int:version>/restore/", views.weights_restore_view, name="weights_restore"),
]
