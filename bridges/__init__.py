"""Programs that make Playout usable from other programs, and other programs usable from Playout."""
