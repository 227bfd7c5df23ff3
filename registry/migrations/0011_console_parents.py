"""Bring the branches of the migrations together."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("registry", "0010_review"), ("registry", "0010_usage")]
    operations = []
