"""Exchange formats: tables (CSV, Parquet), MCAP for Foxglove, ROS 2 bags, and C code."""
