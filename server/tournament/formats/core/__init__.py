"""What formats are made with: the base class `Format`, and maximum matching for pairings."""
