"""Bring the branches of the migrations together."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0010_usage"),
        ("registry", "0011_impact_lookups"),
    ]
    operations = []
