"""The tests, by the distance of what they test from the world. Shared suites live beside the tests that run them."""
