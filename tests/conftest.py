"""What every test has: the services it runs on, and the people in it."""

pytest_plugins = ["tests.embedded", "tests.fixtures", "tests.sandboxed"]
