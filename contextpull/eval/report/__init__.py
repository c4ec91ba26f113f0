"""What a run says, as a page, a picture and tables."""
