"""The laws wing: contact problems as pure algebra. Nothing here knows a robot."""
