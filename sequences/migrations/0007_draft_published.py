from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sequences", "0006_runs_that_lose_nothing")]

    operations = [
        migrations.AddField(
            model_name="sequencedraft",
            name="published_position",
            field=models.PositiveIntegerField(
                default=0, help_text="The DraftRevision that `base_version` says; 0: none."
            ),
        ),
    ]
