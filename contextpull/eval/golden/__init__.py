"""Golden files: questions with what answers them, checked, written, and measured with."""
