"""What the package promises its users."""
