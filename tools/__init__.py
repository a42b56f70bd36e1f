"""Programs of developers: the generated pages and the shipped studies."""
