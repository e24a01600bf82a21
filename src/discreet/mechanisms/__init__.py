"""The only code that draws privacy noise."""
