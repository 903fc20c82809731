"""One file a change, in the order that they name."""
