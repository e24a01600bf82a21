"""What is on disk: campaigns, tokens, reports and windows in a database, and the folder around it."""
