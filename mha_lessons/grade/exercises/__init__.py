"""The checks of each exercise, one module per notebook."""
