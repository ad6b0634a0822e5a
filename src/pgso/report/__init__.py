"""From records to statistics, tables, figures and pages; trains nothing."""
