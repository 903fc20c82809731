"""Values that are sent and stored, and their notations. Pure: no network, no SQL, no clock."""
