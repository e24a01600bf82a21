"""What may be published: topics with their guarantee, and the folder in which they are stored."""
