"""How many heads every site has."""
