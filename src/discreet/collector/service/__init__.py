"""What answers requests: routes, checks, limits, pages, and the queue before the database."""
