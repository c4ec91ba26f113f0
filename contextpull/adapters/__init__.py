"""What other systems bring: file formats of other tools and retrievers to compare with."""
