"""Attacks on topic models, and audits that turn attack scores into a lower bound on ε."""
