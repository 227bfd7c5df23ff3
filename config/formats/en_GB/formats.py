"""British English, by the 24-hour clock as all of our pages."""

DATETIME_FORMAT = "j M Y, H:i"
TIME_FORMAT = "H:i"
