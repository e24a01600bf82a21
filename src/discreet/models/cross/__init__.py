"""Cross-collection models: topics that all collections share, and each collection's own words for them."""
