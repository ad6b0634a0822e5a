"""Tables of a user: folders of CSV or Parquet files, frames in memory, archives and molecules."""
