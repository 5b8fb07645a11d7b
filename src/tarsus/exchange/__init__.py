"""Logs in other formats: tables (CSV, Parquet), MCAP for Foxglove, ROS 2 bags, MuJoCo's states."""
