"""The pages of the reference, one module each, made from the code that they describe."""
