"""What may leave the house: topics with their guarantee, and the folder they are kept in."""
