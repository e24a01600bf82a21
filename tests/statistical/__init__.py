"""Tests with a computed chance of failing when right."""
