"""The builder's form: what a person typed, kept as text until it is saved."""
