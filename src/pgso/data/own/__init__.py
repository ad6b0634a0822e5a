"""The user's own data: a folder of CSV files, an .npz archive, or a table of SMILES."""
