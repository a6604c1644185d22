"""Teaching a trained model: a new relation or entity from a handful of facts, and changes made by hand."""
