"""What can be under test. Each module builds one kind of target from a manifest; the world drives it."""
