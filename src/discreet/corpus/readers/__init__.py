"""Files of every kind as a corpus."""
