"""Rules, dashboards and files for the tools that people already run, from the catalogue of the diagnosis."""
