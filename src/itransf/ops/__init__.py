"""Pure functions of tensors: no parameters, no state."""
