"""`manage.py up`: everything that runs, watched by one process."""
