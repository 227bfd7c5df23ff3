from django.urls import path

from chat.views import (
    artifacts,
    branches,
    continuing,
    conversations,
    labelling,
    promoting,
    queue,
    requests,
    steps,
    turns,
    variables,
)

app_name = "chat"
urlpatterns = [
    path("", conversations.conversation_list, name="conversation_list"),
    path("new/", conversations.conversation_create, name="conversation_create"),
    path("<uuid:conversation_id>/", conversations.conversation_detail, name="conversation_detail"),
    path(
        "<uuid:conversation_id>/rename/",
        conversations.conversation_rename,
        name="conversation_rename",
    ),
    path(
        "<uuid:conversation_id>/delete/",
        conversations.conversation_delete,
        name="conversation_delete",
    ),
    path("<uuid:conversation_id>/variables/", variables.variable_set, name="variable_set"),
    path(
        "<uuid:conversation_id>/variables/forget/",
        variables.variable_forget,
        name="variable_forget",
    ),
    path("artifacts/<uuid:artifact_id>/", artifacts.artifact_download, name="artifact_download"),
    path("requests/<uuid:request_id>/", requests.request_answer, name="request_answer"),
    path("turns/<uuid:turn_id>/values/", variables.turn_values, name="turn_values"),
    path("turns/<uuid:turn_id>/label/", labelling.turn_label, name="turn_label"),
    path("turns/<uuid:turn_id>/regenerate/", branches.turn_regenerate, name="turn_regenerate"),
    path("turns/<uuid:turn_id>/edit/", branches.message_edit, name="message_edit"),
    path("turns/<uuid:turn_id>/show/", branches.turn_show, name="turn_show"),
    path("turns/<uuid:turn_id>/continue/", continuing.turn_continue, name="turn_continue"),
    path("turns/<uuid:turn_id>/steps/", steps.turn_steps, name="turn_steps"),
    path("turns/<uuid:turn_id>/promote/", promoting.promote, name="turn_promote"),
    path("<uuid:conversation_id>/queue/send/", queue.queue_send, name="queue_send"),
    path(
        "<uuid:conversation_id>/queue/<uuid:queued_id>/edit/", queue.queued_edit, name="queued_edit"
    ),
    path(
        "<uuid:conversation_id>/queue/<uuid:queued_id>/remove/",
        queue.queued_remove,
        name="queued_remove",
    ),
    path("<uuid:conversation_id>/messages/", turns.message_send, name="message_send"),
    path(
        "<uuid:conversation_id>/turns/<uuid:turn_id>/stream/",
        turns.turn_stream,
        name="turn_stream",
    ),
    path("<uuid:conversation_id>/turns/<uuid:turn_id>/stop/", turns.turn_stop, name="turn_stop"),
]
