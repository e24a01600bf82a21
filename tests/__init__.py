"""The tests: by what they show."""
