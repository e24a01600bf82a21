"""What documents add to a statistic."""
