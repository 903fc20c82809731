"""The command `scripts/release`: builds the files of a release and checks them."""
